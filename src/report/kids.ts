/** Characters of a kid that are shown to people: enough to tell keys apart. Journals and JSON have all of them. */
const SHOWN = 12;

export const shortKid = (kid: string): string => kid.slice(0, SHOWN);

/** Every kid in a text (43 characters of base64url) cut to what people need. */
export const shortenKids = (text: string): string =>
  text.replace(/(?<![A-Za-z0-9_-])([A-Za-z0-9_-]{12})[A-Za-z0-9_-]{31}(?![A-Za-z0-9_-])/g, '$1…');
