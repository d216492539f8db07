// Moments as people read them: by the clock and calendar of this machine, with its zone.

const two = (value: number) => String(value).padStart(2, '0');

/** The zone of a moment: `UTC+01:00`, `UTC` where there is no difference. */
export function zone(at: Date): string {
  const minutes = -at.getTimezoneOffset();
  if (minutes === 0) return 'UTC';
  const size = Math.abs(minutes);
  return `UTC${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

/** The day: `2026-11-23`. */
export const day = (at: Date): string => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;

/** The time of the day: `15:04:05`, with `decimals` of a second. */
export function clock(at: Date, decimals = 0): string {
  const part = decimals > 0 ? `.${String(at.getMilliseconds()).padStart(3, '0').slice(0, decimals)}` : '';
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}${part}`;
}

/** Day, time and zone: `2026-11-23 15:04:05 UTC+01:00`; what is no moment stays as it is written. */
export function moment(at: Date | string): string {
  const found = typeof at === 'string' ? new Date(at) : at;
  if (Number.isNaN(found.getTime())) return String(at);
  return `${day(found)} ${clock(found)} ${zone(found)}`;
}

/** What stands at the ticks of an axis of seconds since 1970: times, the day below the first and where another begins. */
export function axis(ticks: readonly number[]): string[] {
  const step = ticks.length > 1 ? (ticks[1] as number) - (ticks[0] as number) : 1;
  let last = '';
  return ticks.map((tick) => {
    const at = new Date(tick * 1000);
    const time = clock(at, step < 1 ? 3 : 0);
    const now = day(at);
    if (now === last) return time;
    last = now;
    return `${time}\n${now}`;
  });
}
