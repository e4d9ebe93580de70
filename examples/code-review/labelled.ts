/** A folder to review, and the faults that were put into it. */
export interface Labelled {
  readonly id: string;
  readonly files: Readonly<Record<string, string>>;
  readonly faults: readonly { readonly path: string; readonly line: number; readonly what: string }[];
}

/** The end of a line that has a fault. The reviewer does not see it. */
const mark = / *\/\/! (.*)$/u;

function labelled(id: string, files: Readonly<Record<string, string>>): Labelled {
  const faults = Object.entries(files).flatMap(([path, text]) =>
    text.split("\n").flatMap((line, at) => {
      const [, what] = mark.exec(line) ?? [];
      return what === undefined ? [] : [{ path, line: at + 1, what }];
    }),
  );
  const shown = Object.entries(files).map(([path, text]) => [path, text.replaceAll(/ *\/\/! .*$/gmu, "")]);
  return { id, files: Object.fromEntries(shown) as Labelled["files"], faults };
}

/** Faults that a rule can see, faults that want understanding, and folders without one. */
export const folders: readonly Labelled[] = [
  labelled("swallowed error", {
    "src/save.ts": `import { writeFile } from "node:fs/promises";

/** Saves a text. */
export async function save(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text);
  } catch {} //! the caller believes that it was saved
}
`,
  }),
  labelled("any", {
    "src/total.ts": `/** Adds up what items cost. */
export function total(items: any): number { //! nothing checks what items are
  return items.reduce((sum: number, item: { cost: number }) => sum + item.cost, 0);
}
`,
  }),
  labelled("double cast", {
    "src/user.ts": `interface User {
  readonly name: string;
}

/** Reads a user. */
export function userIn(text: string): User {
  return JSON.parse(text) as unknown as User; //! the text may be anything
}
`,
  }),
  labelled("silenced type error", {
    "src/area.ts": `/** The area of a circle. */
export function area(radius: number): number {
  // @ts-ignore //! a type error is silenced
  return Math.PI * radius ** "2";
}
`,
  }),
  labelled("open work", {
    "src/pay.ts": `/** Pays an invoice. */
export async function pay(id: string, fetcher: typeof fetch): Promise<void> {
  // TODO: refuse an invoice that was paid already //! it may be paid twice
  await fetcher(\`/invoices/\${encodeURIComponent(id)}/pay\`, { method: "POST" });
}
`,
    "src/id.ts": `/** Whether a text is an id. */
export function isId(text: string): boolean {
  return /^[a-z0-9]{8}$/.test(text);
}
`,
  }),
  labelled("bare except", {
    "tools/load.py": `def load(path):
    """Loads numbers."""
    try:
        with open(path) as file:
            return [float(line) for line in file]
    except: //! hides a wrong path and Ctrl-C alike
        return []
`,
  }),
  labelled("off by one", {
    "src/last.ts": `/** The last of some items. */
export function last<T>(items: readonly T[]): T | undefined {
  return items[items.length]; //! it is always undefined
}
`,
  }),
  labelled("missing await", {
    "src/transfer.ts": `interface Accounts {
  withdraw(id: string, amount: number): Promise<void>;
  deposit(id: string, amount: number): Promise<void>;
}

/** Moves an amount from one account to another. */
export async function transfer(accounts: Accounts, from: string, to: string, amount: number): Promise<void> {
  accounts.withdraw(from, amount); //! a refused withdrawal is not noticed
  await accounts.deposit(to, amount);
}
`,
  }),
  labelled("injection", {
    "src/find.ts": `interface Database {
  query(sql: string): Promise<readonly unknown[]>;
}

/** Finds users by their name. */
export function find(database: Database, name: string): Promise<readonly unknown[]> {
  return database.query(\`SELECT * FROM users WHERE name = '\${name}'\`); //! the name is part of the SQL
}
`,
  }),
  labelled("mutated argument", {
    "src/median.ts": `/** The median of some numbers. */
export function median(values: number[]): number {
  values.sort((a, b) => a - b); //! the caller's list is changed
  return values[Math.floor(values.length / 2)] ?? Number.NaN;
}
`,
  }),
  labelled("clean small", {
    "src/clamp.ts": `/** A number, cut at both ends. */
export function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
`,
  }),
  labelled("clean pair", {
    "src/words.ts": `/** The words of a text. */
export function words(text: string): readonly string[] {
  return text.split(/\\s+/).filter((word) => word !== "");
}
`,
    "src/count.ts": `import { words } from "./words.ts";

/** How many words a text has. */
export function count(text: string): number {
  return words(text).length;
}
`,
  }),
];
