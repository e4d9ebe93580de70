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

/**
 * Where a text quotes addresses, in order. A password may hold any character but "://": an address goes on behind the last
 * "@" before the next address.
 */
function addressPlaces(text: string): readonly { readonly from: number; readonly to: number }[] {
  const places: { from: number; to: number }[] = [];
  const beginning = (at: number): number => {
    const length = scheme.exec(text.slice(Math.max(0, at - longestScheme), at))?.[0].length ?? 0;
    return at - length;
  };
  for (let at = text.indexOf("://"); at !== -1;) {
    const next = text.indexOf("://", at + 3);
    const rest = text.slice(at, next === -1 ? text.length : beginning(next));
    const behind = rest.lastIndexOf("@") + 1;
    const length = rest.slice(behind).search(/[\s"'<>]/);
    const from = beginning(at);
    if (from < at) places.push({ from, to: at + (length === -1 ? rest.length : behind + length) });
    at = next;
  }
  return places;
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
