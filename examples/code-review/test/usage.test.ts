import { expect, inject, test } from "vitest";
import { start } from "./support.ts";

const wrong: readonly (readonly [args: readonly string[], message: string])[] = [
  [["/no/such"], "there is no folder /no/such."],
  [[new URL("support.ts", import.meta.url).pathname], "is a file; name a folder."],
  [["--nope"], "Unknown option '--nope'"],
  [["--api", "soap"], '--api is "responses" or "chat", not "soap".'],
  [["--budget", "0"], '--budget takes a whole number above 0, not "0".'],
  [["--budget", "-5"], "Option '--budget' argument is ambiguous. --help"],
  [["--model="], "--model takes a name."],
  [["a", "b"], "one folder at a time, not 2."],
];

// Each is a process.
test.each(inject("exhaustive") ? wrong : wrong.slice(0, 3))(
  "DEMO-4 %j is one line and exit 2",
  async (args, message) => {
    const { code, stdout, stderr } = await start(args).ended;
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^code-review: [^\n]+\n$/);
    expect(stderr).toContain(message);
  },
);
