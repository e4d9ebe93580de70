import type { AgentPermission } from "@proviso/adapter-process";
import { expect, test } from "vitest";
import { failureOf } from "../support/command.ts";
import { acting, hello, nothingIsLeft, withTools } from "./support.ts";

nothingIsLeft();

const usual = [
  { optionId: "for-ever", name: "Always", kind: "allow_always" },
  { optionId: "yes", name: "Yes", kind: "allow_once" },
  { optionId: "no", name: "No", kind: "reject_once" },
];

interface Asked {
  readonly toolCall: { readonly toolCallId: string } & Readonly<Record<string, unknown>>;
  /** Told as an update before. */
  readonly known?: Readonly<Record<string, unknown>> | undefined;
  readonly options?: readonly { optionId: string; name: string; kind: string }[] | undefined;
}

const asking = ({ options = usual, ...asked }: Asked) => JSON.stringify({ ...asked, options });

test.each<[string, Asked, string]>([
  ["Claude Code's name of a tool of ours", { toolCall: { toolCallId: "1", title: "mcp__proviso__note" } }, "yes"],
  [
    "Codex's, told before",
    { toolCall: { toolCallId: "1" }, known: { toolCallId: "1", title: "mcp.proviso.note" } },
    "yes",
  ],
  ["Gemini CLI's", { toolCall: { toolCallId: "1", title: "note (proviso MCP Server)", kind: "other" } }, "yes"],
  ["a command of its own", { toolCall: { toolCallId: "1", title: "`rm -rf /`", kind: "execute" } }, "no"],
  ["a command that names our tool", { toolCall: { toolCallId: "1", title: "rm -rf / # mcp__proviso__note" } }, "no"],
  ["a tool of another server", { toolCall: { toolCallId: "1", title: "mcp__other__note" } }, "no"],
  ["a tool that there is not", { toolCall: { toolCallId: "1", title: "mcp__proviso__nope" } }, "no"],
  ["something without a name", { toolCall: { toolCallId: "1" } }, "no"],
])("CMD-27 left to itself, %s is answered: %#", async (_, asked, answer) => {
  expect((await acting("permission", asking(asked)).evaluate(withTools)).text).toBe(answer);
});

const command = { toolCall: { toolCallId: "1", title: "ls", kind: "execute", rawInput: { command: "ls" } } };
const own = { toolCall: { toolCallId: "1", title: "mcp__proviso__note" } };

test.each([
  [1, "1000 things"],
  [1_048_576, "16777216 bytes"],
])("CMD-29 an agent that asks and asks, in %i bytes each, is ended though no answer comes", async (bytes, found) => {
  let [asked, most] = [0, 0];
  const permissions = (): Promise<boolean> => {
    most = Math.max(most, ++asked);
    return new Promise(() => {});
  };
  const error = await failureOf(acting("nag", `${bytes}`, { permissions }).evaluate(hello));
  expect(error).toMatchObject({ code: "process" });
  expect(error.message).toContain(`asked for`);
  expect(error.message).toContain(found);
  expect(most).toBeLessThanOrEqual(1_000);
});

test.each([0, 8_000])(
  "CMD-29 one that waits for each answer may ask as often as it likes, in %i bytes each",
  async (bytes) => {
    const { text } = await acting("inquire", `${bytes}`, { permissions: "all" }).evaluate(hello);
    expect(text).toBe("I asked.");
  },
);

test("CMD-27 all allows what it asks for, none nothing", async () => {
  expect((await acting("permission", asking(command), { permissions: "all" }).evaluate(withTools)).text).toBe("yes");
  expect((await acting("permission", asking(own), { permissions: "none" }).evaluate(withTools)).text).toBe("no");
});

test("CMD-27 a function decides, and one that throws rejects", async () => {
  const seen: AgentPermission[] = [];
  const permissions = async (asked: AgentPermission) => {
    seen.push(asked);
    return asked.kind === "execute";
  };
  expect((await acting("permission", asking(command), { permissions }).evaluate(withTools)).text).toBe("yes");
  expect((await acting("permission", asking(own), { permissions }).evaluate(withTools)).text).toBe("no");
  expect(seen).toEqual([
    { tool: undefined, title: "ls", kind: "execute", input: { command: "ls" } },
    { tool: "note", title: "mcp__proviso__note", kind: undefined, input: undefined },
  ]);
  const throwing = acting("permission", asking(command), {
    permissions: () => {
      throw new Error("Nobody is here.");
    },
  });
  expect((await throwing.evaluate(withTools)).text).toBe("no");
});

test("CMD-27 without an option for this once the lasting one is taken, and without any it is cancelled", async () => {
  const lasting = [
    { optionId: "always", name: "Always", kind: "allow_always" },
    { optionId: "never", name: "Never", kind: "reject_always" },
  ];
  expect((await acting("permission", asking({ ...own, options: lasting })).evaluate(withTools)).text).toBe("always");
  expect((await acting("permission", asking({ ...command, options: lasting })).evaluate(withTools)).text).toBe("never");
  expect((await acting("permission", asking({ ...command, options: [] })).evaluate(withTools)).text).toBe("cancelled");
});
