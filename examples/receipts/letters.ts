// A letter is three dots wide and five high; each digit of its code is a row, its bits from left to right.
const codes: Readonly<Record<string, string>> = {
  A: "25755",
  B: "65656",
  C: "34443",
  D: "65556",
  E: "74647",
  F: "74644",
  G: "34553",
  H: "55755",
  I: "72227",
  J: "11152",
  K: "55655",
  L: "44447",
  M: "57755",
  N: "65555",
  O: "25552",
  P: "65644",
  Q: "25563",
  R: "65655",
  S: "34216",
  T: "72222",
  U: "55557",
  V: "55552",
  W: "55775",
  X: "55255",
  Y: "55222",
  Z: "71247",
  0: "75557",
  1: "26227",
  2: "61247",
  3: "71317",
  4: "55711",
  5: "74616",
  6: "34757",
  7: "71122",
  8: "75757",
  9: "75716",
  ".": "00002",
  "-": "00700",
  " ": "00000",
};
const letters = new Map(Object.entries(codes).map(([letter, code]) => [code, letter]));

/** Dots from one letter to the next, and from one line to the next. */
export const letterWidth = 4;
export const lineHeight = 7;
const rows = 5;
const columns = 3;

/** Whether the dot of a text is set, by its place. */
export function isSet(lines: readonly string[], x: number, y: number): boolean {
  const letter = lines[Math.floor(y / lineHeight)]?.[Math.floor(x / letterWidth)] ?? " ";
  const [row, column] = [y % lineHeight, x % letterWidth];
  const bits = Number(codes[letter]?.[row] ?? 0);
  return column < columns && row < rows && ((bits >> (columns - 1 - column)) & 1) === 1;
}

/** The letter whose dots these are; "?" where there is none. */
export function letterAt(isDot: (x: number, y: number) => boolean, column: number, line: number): string {
  const [left, top] = [column * letterWidth, line * lineHeight];
  const code = Array.from({ length: rows }, (_, row) =>
    Array.from({ length: columns }, (__, x) => (isDot(left + x, top + row) ? 1 << (columns - 1 - x) : 0)).reduce(
      (sum, bit) => sum + bit,
      0,
    ),
  ).join("");
  return letters.get(code) ?? "?";
}
