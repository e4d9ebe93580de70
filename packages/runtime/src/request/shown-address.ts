/** Characters of an address that are shown. */
const longestShown = 200;

/** An address for a message: whole segments of it, without a user name, a password, and what stands after "?" or "#". */
export function shownAddress(address: string): string {
  const url = URL.parse(address);
  const shown =
    url === null || url.host === "" ? withoutCredentials(address) : `${url.protocol}//${url.host}${url.pathname}`;
  if (shown.length <= longestShown) return shown;
  // A segment may be a key, of which no part is shown.
  return `${shown.slice(0, shown.lastIndexOf("/", longestShown - 1) + 1)}…`;
}

/** Characters of a scheme, at the end of a text. A scheme is short: an error may quote a long text without any address. */
const scheme = /[a-z][a-z\d+.-]{0,31}$/i;
const longestScheme = 32;

/** Where a text quotes addresses, in order. */
function addressPlaces(text: string): readonly { readonly from: number; readonly to: number }[] {
  const places: { from: number; to: number }[] = [];
  const beginning = (at: number): number => {
    const length = scheme.exec(text.slice(Math.max(0, at - longestScheme), at))?.[0].length ?? 0;
    return at - length;
  };
  for (let at = text.indexOf("://"); at !== -1;) {
    const next = text.indexOf("://", at + 3);
    const rest = text.slice(at + 3, next === -1 ? text.length : beginning(next));
    const from = beginning(at);
    if (from < at) places.push({ from, to: at + 3 + lengthOf(rest) });
    at = next;
  }
  return places;
}

/** How much of a text belongs to the address whose host or credentials it begins with: all to a blank, which only a password may hold. */
function lengthOf(rest: string): number {
  const end = wordEnd(rest, 0);
  // A user and a colon, and no port behind it.
  if (!/^[^/?#@:]*:(?!\d*$)[^/?#@]*$/.test(rest.slice(0, end))) return end;
  const behind = rest.indexOf("@", end);
  return behind === -1 || /[/?#]/.test(rest.slice(end, behind)) ? end : wordEnd(rest, behind);
}

function wordEnd(text: string, from: number): number {
  const length = text.slice(from).search(/[\s"'<>]/);
  return length === -1 ? text.length : from + length;
}

/** The addresses that a text quotes. */
export function addressesIn(text: string): readonly string[] {
  return addressPlaces(text).map(({ from, to }) => text.slice(from, to));
}

/** A text that quotes addresses, with those that may hold credentials as messages show them. */
export function withShownAddresses(text: string): string {
  let shown = "";
  let last = 0;
  for (const { from, to } of addressPlaces(text)) {
    const address = text.slice(from, to);
    shown += text.slice(last, from) + (/[@?#]/.test(address) ? shownAddress(address) : address);
    last = to;
  }
  return shown + text.slice(last);
}

/** Removes the credentials of an address that cannot be parsed: a password may hold any character but its end. */
function withoutCredentials(text: string): string {
  const [plain = ""] = text.split(/[?#]/);
  const at = text.lastIndexOf("@");
  return at === -1 ? plain : `…@${text.slice(at + 1).split(/[?#]/)[0]}`;
}
