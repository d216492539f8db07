// What keys do to the stretch of a chart that is shown.

export interface Stretch {
  min: number;
  max: number;
}

/** Keys that mean something. */
export const KEYS = ['+', '=', '-', '_', 'ArrowLeft', 'ArrowRight', 'Home', 'End', '0', 'Escape'];

/** The stretch after a key, within `whole`; null for the whole. */
export function zoomed(shown: Stretch, whole: Stretch, key: string): Stretch | null {
  const width = shown.max - shown.min;
  const all = whole.max - whole.min;
  if (!(all > 0) || !(width > 0)) return null;
  const middle = (shown.min + shown.max) / 2;
  const put = (min: number, wide: number): Stretch | null => {
    const size = Math.max(wide, all / 1e4);
    if (size >= all) return null;
    const low = Math.min(Math.max(min, whole.min), whole.max - size);
    return { min: low, max: low + size };
  };
  switch (key) {
    case '+':
    case '=':
      return put(middle - width / 4, width / 2);
    case '-':
    case '_':
      return put(middle - width, width * 2);
    case 'ArrowLeft':
      return put(shown.min - width / 4, width);
    case 'ArrowRight':
      return put(shown.min + width / 4, width);
    case 'Home':
      return put(whole.min, width);
    case 'End':
      return put(whole.max - width, width);
    default:
      return null;
  }
}
