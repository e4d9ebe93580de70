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

/** Removes the credentials of an address that cannot be parsed: a password may hold any character but its end. */
function withoutCredentials(text: string): string {
  const [plain = ""] = text.split(/[?#]/);
  const at = text.lastIndexOf("@");
  return at === -1 ? plain : `…@${text.slice(at + 1).split(/[?#]/)[0]}`;
}
