// Text that somebody else wrote, as it can be shown without harm.

/** With the marks that turn the direction of text written out, so that what stands beside it is not turned round. */
export const plain = (text: string): string =>
  text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (mark) => `⟨U+${mark.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`);
