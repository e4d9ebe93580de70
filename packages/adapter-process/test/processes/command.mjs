/** A command-line model that does what its arguments say: `node command.mjs <what> [more]`. */
import { spawn } from "node:child_process";
import { appendFileSync, readFileSync } from "node:fs";

// A program that is not ended ends itself.
setTimeout(() => process.exit(124), 300_000).unref();

const [what, more = ""] = process.argv.slice(2);
const prompt = () => readFileSync(0, "utf8");
const forever = () => setInterval(() => {}, 1_000);

const deeds = {
  echo: () => process.stdout.write(prompt()),
  print: () => (prompt(), process.stdout.write(more)),
  bytes: () => (prompt(), process.stdout.write(Buffer.from(more, "hex"))),
  /** Prints the next line of a file, and notes the prompt beside it. */
  play: () => {
    const asked = prompt();
    const log = `${more}.log`;
    appendFileSync(log, `${JSON.stringify(asked)}\n`);
    const at = readFileSync(log, "utf8").trimEnd().split("\n").length - 1;
    process.stdout.write(JSON.parse(readFileSync(more, "utf8"))[at]);
  },
  /** A few bytes at a time, so that characters are cut. */
  pieces: async () => {
    const bytes = Buffer.from(prompt());
    for (let from = 0; from < bytes.length; from += 5) {
      await new Promise((resolve) => process.stdout.write(bytes.subarray(from, from + 5), resolve));
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  },
  count: () => process.stdout.write(String(readFileSync(0).length)),
  variables: () => (prompt(), process.stdout.write(Object.keys(process.env).sort().join(","))),
  folder: () => (prompt(), process.stdout.write(process.cwd())),
  exit: () => {
    process.stderr.write("Something is missing.\n");
    process.exitCode = Number(more);
  },
  selfkill: () => process.kill(process.pid, "SIGKILL"),
  flood: () => {
    const chunk = Buffer.alloc(65_536, "x");
    const go = () => process.stdout.write(chunk, go);
    go();
  },
  complain: () => {
    process.stderr.write(`${"e".repeat(300_000)}end`, () => process.exit(1));
  },
  wail: () => {
    process.stderr.write("é".repeat(40_000) + "!", () => process.exit(1));
  },
  hang: forever,
  /** Notes its id when it does. */
  stubborn: () => {
    process.on("SIGTERM", () => {});
    if (more !== "") appendFileSync(more, `${process.pid}\n`);
    forever();
  },
  /** Ignores SIGTERM, and notes how many milliseconds it has lived since; its id beside, as soon as it does. */
  lasting: () => {
    process.on("SIGTERM", () => {
      const asked = performance.now();
      setInterval(() => appendFileSync(more, `${performance.now() - asked}\n`), 10);
    });
    appendFileSync(`${more}.id`, `${process.pid}\n`);
    forever();
  },
  /** Starts a grandchild that ignores SIGTERM and holds the pipes; notes both ids. */
  family: () => {
    process.on("SIGTERM", () => {});
    const child = spawn(process.execPath, [import.meta.filename, "stubborn"], { stdio: "inherit" });
    appendFileSync(more, `${process.pid}\n${child.pid}\n`);
    forever();
  },
  /** Answers and goes, but what it started stays. */
  leave: () => {
    prompt();
    const child = spawn(process.execPath, [import.meta.filename, "stubborn"], { stdio: "inherit" });
    appendFileSync(more, `${child.pid}\n`);
    child.unref();
    process.stdout.write("Gone.", () => process.exit(0));
  },
  /** What it leaves behind prints for ever. */
  drip: () => {
    prompt();
    const child = spawn(process.execPath, [import.meta.filename, "dripping"], { stdio: "inherit" });
    appendFileSync(more, `${child.pid}\n`);
    child.unref();
    process.stdout.write("Gone.", () => process.exit(0));
  },
  dripping: () => setInterval(() => process.stdout.write(" And more."), 20),
  /** What it starts leaves the group, and holds the pipes. */
  escape: () => {
    prompt();
    const child = spawn(process.execPath, [import.meta.filename, "hang"], { stdio: "inherit", detached: true });
    appendFileSync(more, `${child.pid}\n`);
    child.unref();
    process.stdout.write("Gone.", () => process.exit(0));
  },
  /** Reads nothing. */
  deaf: () => {
    process.stdin.destroy();
    process.stdout.write("Whatever.");
  },
};

deeds[what]();
