import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openRuns } from "@proviso/viewer";
import { startSimulator } from "@proviso/simulator";
import { expect, test } from "vitest";
import { inProcess, processes, project, run, start, without } from "./support.ts";

const chats = join(processes, "chats.ts");

const lines = async function* (...all: readonly string[]) {
  for (const line of all) yield `${line}\n`;
};

test("CLI-7 chat keeps the messages from turn to turn, and records each turn", async () => {
  const folder = await project();
  const stdin = lines("first", "", "second", "third");
  expect(await inProcess(folder, ["chat"], { stdin })).toEqual({
    code: 0,
    stdout: "You said: first\nYou said as number 2: second\nYou said as number 3: third\n",
    stderr: "",
  });
  await using reader = openRuns(join(folder, ".proviso", "runs.db"));
  expect((await reader.list()).runs).toHaveLength(3);
});

test("CLI-7 chat keeps the session: what a tool changed in a turn is there in the next one", async () => {
  const call = (text: string) => ({ toolCalls: [{ name: "note", arguments: { text } }] });
  const steps = [call("a"), { text: "Noted." }, call("b"), { text: "Noted too." }];
  await using simulator = await startSimulator({ steps });
  const folder = await project("export default {};\n");
  const env = { OPENAI_API_KEY: "sk-any", OPENAI_BASE_URL: simulator.baseURL };
  const args = ["chat", `${chats}#notebook`, "--param", "language=English", "--model", "openai/gpt-5.4", "--no-runs"];
  const stdin = lines("Note a.", "Note b.");
  expect(await inProcess(folder, args, { env, stdin })).toEqual({
    code: 0,
    stdout: "Noted.\nNoted too.\n",
    stderr: "",
  });
  const sent = JSON.stringify(simulator.requests.at(-1));
  expect(sent).toContain("2 notes");
  expect(sent).toContain("Answer in English.");
});

test("CLI-7 chat takes a text as instructions, and one with a placeholder left over as the form of each message", async () => {
  const folder = await project();
  await writeFile(join(folder, "rules.md"), "Be brief, {{name}}.\n");
  const asked = (...args: readonly string[]) => inProcess(folder, ["chat", ...args], { stdin: lines("{{hello}} a=b") });
  expect((await asked("rules.md", "--param", "name=Ada")).stdout).toMatch(
    /^You said: (?:## \S+\n\n)?\{\{hello\}\} a=b\n$/,
  );
  expect((await asked("rules.md")).stdout).toBe("You said: Be brief, {{hello}} a=b.\n");
});

test("CLI-7 a turn that failed does not end the chat; where the lines come from a pipe it exits 1 in the end", async () => {
  const folder = await project();
  const { code, stdout, stderr } = await inProcess(folder, ["chat"], { stdin: lines("refuse", "again") });
  expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining(": again\n") });
  expect(stderr).toMatch(/^proviso: provider: [^\n]*That is refused\.\\u001b\[2J[^\n]*\n$/);
});

test("CLI-7 in a terminal Ctrl-C ends the turn, and at the prompt the chat with 0", async () => {
  const folder = await project();
  const chat = start(folder, ["chat"], { inTerminal: true });
  await chat.wrote("> ");
  chat.type("please wait\r");
  await chat.wrote("This much");
  chat.interrupt();
  await chat.wrote("proviso: aborted: ");
  chat.type("go on\r");
  await chat.wrote(": go on\r\n> ");
  chat.interrupt();
  expect((await chat.ended).code).toBe(0);
});

test("CLI-7 in a terminal Ctrl-D ends the chat with 0, also after a turn that failed", async () => {
  const folder = await project();
  const chat = start(folder, ["chat", "--no-runs"], { inTerminal: true });
  await chat.wrote("> ");
  chat.type("refuse\r");
  await chat.wrote("That is refused.");
  chat.type("\u0004");
  const { code, stdout } = await chat.ended;
  expect(code).toBe(0);
  expect(stdout).toContain("\\u001b[2J");
});

test("CLI-7 in a pipe a SIGINT ends the turn, and the second one the chat", async () => {
  const folder = await project();
  const chat = start(folder, ["chat"]);
  chat.type("please wait\n");
  await chat.wrote("This much");
  chat.interrupt();
  await chat.wrote("proviso: aborted: ");
  chat.type("go on\n");
  await chat.wrote(": go on\n");
  chat.interrupt();
  expect(await chat.ended).toMatchObject({ code: 0 });
});

test("CLI-7 CLI-1 CLI-4 a chat that cannot begin is one line that names why, and exit 2", async () => {
  const folder = await project();
  const wrong: readonly (readonly [readonly string[], string])[] = [
    [["chat", "a.md", "b.md"], "chat takes one prompt, not a.md b.md"],
    [["chat", "--param", "a=b"], "chat without a prompt takes no params"],
    [["chat", `${chats}#fixed`], "has no param that could take the lines"],
    [["chat", `${chats}#pair`], "--message a, --message b"],
    [["chat", `${chats}#pair`, "--message", "a"], "b: "],
    [["chat", `${chats}#pair`, "--message", "c"], "has no param c, but a, b"],
    [["chat", "--json"], "there is no flag --json"],
    [["caht"], "did you mean chat?"],
  ];
  for (const [args, says] of wrong) {
    const { code, stdout, stderr } = await inProcess(folder, args, { stdin: lines("x") });
    expect({ says, code }).toEqual({ says, code: 2 });
    if (!args.includes("--json")) expect(stdout).toBe("");
    expect(stderr).toContain(says);
  }
  const bare = await run(
    await project("export default { adapter: () => ({}) };\n"),
    ["chat"],
    without("@proviso/runtime"),
  );
  expect(bare).toMatchObject({ code: 2, stderr: expect.stringContaining("npm install --save-dev @proviso/runtime") });
});
