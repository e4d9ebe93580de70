import { allow, definePolicy, definePrompt, defineTool, Filesystem, provide, suspend } from "@proviso/core";
import { memoryJournal, type Journal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { createSession, memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { listed } from "./support.ts";

const secret = "hunter2-secret";
const cut: ScriptedStep = { failure: "throttle", kind: "network", message: "The line is cut." };

describe.each(["adapter", "journal"])("a secret of the %s", (owner) => {
  const journalWith = (): Journal => memoryJournal(owner === "journal" ? { secrets: [secret] } : {});
  const adapterWith = (...steps: readonly ScriptedStep[]) =>
    modelAdapter(scriptedModel(steps), {
      throttle: { maxAttempts: 1 },
      ...(owner === "adapter" ? { secrets: [secret] } : {}),
    });
  const thrown = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error);

  function paying(done: string[]) {
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      input: z.object({ to: z.string() }),
      execute: ({ to }) => void done.push(to),
    });
    const guard = definePolicy({ name: "guard", tools: [pay], check: () => suspend(`Pay ${secret}?`) });
    return definePrompt({
      key: "pay",
      policies: [guard],
      sections: [{ key: "task", text: `Pay with ${secret}.`, tools: [pay] }],
    }).bind();
  }
  const payTo = (to: string): ScriptedStep => ({
    text: `For ${secret}.`,
    toolCalls: [{ name: "pay", arguments: { to } }],
  });

  it("JRN-6 RSM-11 a call whose arguments were hidden is not run with what stands in their place", async () => {
    const done: string[] = [];
    const journal = journalWith();
    const waits = await thrown(adapterWith(payTo(secret)).evaluate(paying(done), { run: journal.run("r") }));
    await journal.resolve((waits as { pending: { token: string } }).pending.token, allow());
    const error = await thrown(adapterWith({ text: "Done." }).evaluate(paying(done), { run: journal.run("r") }));
    expect(error).toMatchObject({ code: "run", reason: "redacted" });
    expect(done).toEqual([]);
  });

  it("JRN-6 RPL-1 a run whose texts were hidden goes on and replays, and no entry or event shows one", async () => {
    const done: string[] = [];
    const journal = journalWith();
    const waits = await thrown(adapterWith(payTo("Ada")).evaluate(paying(done), { run: journal.run("r") }));
    await journal.resolve((waits as { pending: { token: string } }).pending.token, allow());
    const { text } = await adapterWith({ text: "Done." }).evaluate(paying(done), { run: journal.run("r") });
    expect([text, done]).toEqual(["Done.", ["Ada"]]);
    expect(JSON.stringify(await listed(journal.entries("r")))).not.toContain("hunter2");
    if (owner === "adapter") return;
    const replayed = await replay(paying([]), journal.replay("r"));
    expect(replayed.response?.text).toBe("Done.");
    expect(JSON.stringify(replayed.events)).not.toContain("hunter2");
  });

  it("JRN-6 SEC-1 a secret whose letters a model escapes in the arguments of a call is in no entry", async () => {
    const done: string[] = [];
    const journal = journalWith();
    const written = String.raw`\u0068unter2-\u0073ecret`;
    const calls = [`{"to":"${written}"}`, `{"to":"${written}`, `{"to":{"is":${JSON.stringify(`{"a":"${written}"}`)}}}`];
    const calling = { toolCalls: calls.map((given) => ({ name: "pay", arguments: given })) };
    await thrown(adapterWith(calling, { text: written }).evaluate(paying(done), { run: journal.run("r") }));
    const entries = JSON.stringify(await listed(journal.entries("r")));
    expect(entries).toContain("[secret]");
    let read = entries;
    for (let depth = 0; depth < 5; depth++) {
      expect(read).not.toMatch(/hunter2-|-secret/);
      read = read.replaceAll(/\\(?:u[\da-f]{4}|["\\/bfnrt])/g, (one) => JSON.parse(`"${one}"`) as string);
    }
  });

  it("JRN-6 what a call changed and shows a secret is not put back with what stands in its place", async () => {
    const write = defineTool({
      name: "write",
      description: "Writes.",
      input: z.object({}),
      execute: (_input, { resources }) => resources.get(Filesystem).write("a.txt", `key ${secret} end`),
    });
    const prompt = definePrompt({ key: "write", sections: [{ key: "task", text: "Write.", tools: [write] }] }).bind();
    const journal = journalWith();
    const options = () => ({ run: journal.run("r"), resources: [provide(Filesystem, memoryFilesystem())] });
    await thrown(adapterWith({ toolCalls: [{ name: "write", arguments: {} }] }, cut).evaluate(prompt, options()));
    const error = await thrown(adapterWith({ text: "Done." }).evaluate(prompt, options()));
    expect(error).toMatchObject({ code: "run", reason: "state" });
  });
});

it("JRN-6 a decision whose input shows a secret of the journal is refused: the handler would not get it", async () => {
  const done: string[] = [];
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    input: z.object({ to: z.string() }),
    execute: ({ to }) => void done.push(to),
  });
  const guard = definePolicy({ name: "guard", tools: [pay], check: () => suspend("Pay?") });
  const prompt = definePrompt({
    key: "pay",
    policies: [guard],
    sections: [{ key: "task", text: "Pay.", tools: [pay] }],
  }).bind();
  const journal = memoryJournal({ secrets: [secret] });
  const adapter = modelAdapter(
    scriptedModel([{ toolCalls: [{ name: "pay", arguments: { to: "Ada" } }] }, { text: "" }]),
  );
  const error: unknown = await adapter.evaluate(prompt, { run: journal.run("r") }).catch((thrown: unknown) => thrown);
  const { token } = (error as { pending: { token: string } }).pending;
  await expect(journal.resolve(token, allow({ to: secret }))).rejects.toMatchObject({ code: "definition" });
  expect((await journal.resolve(token, allow({ to: "Grace" }))).state).toBe("open");
});

it("JRN-6 RPL-8 an answer with secrets in it is streamed while it comes, and replays piece by piece without them", async () => {
  const spelled = `I say ${secret}, hunter2- and ${secret.slice(0, 9)}`;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 8, maxLength: 40 }), async (sizes) => {
      let at = 0;
      const pieces = sizes.map((size) => spelled.slice(at, (at += size))).filter((text) => text !== "");
      pieces.push(spelled.slice(at));
      const text = pieces.join("");
      const journal = memoryJournal();
      const adapter = modelAdapter(
        {
          name: "spelling",
          model: "spelling-1",
          capabilities: { tools: false, nativeOutput: false },
          async generate({ onDelta }) {
            for (const piece of pieces) {
              onDelta?.({ kind: "reasoning", text: piece });
              onDelta?.({ kind: "text", text: piece });
              await Promise.resolve();
            }
            const message = { role: "assistant", text, reasoning: text, toolCalls: [] } as const;
            return { message, finishReason: "stop", usage: { inputTokens: 1, outputTokens: 1 } };
          },
        },
        { secrets: [secret] },
      );
      const told = async (run: ReturnType<Journal["run"]>): Promise<string[]> => {
        const stream = adapter.stream("Spell it.", { run, session: createSession({ id: "s" }) });
        const events: string[] = [];
        for await (const event of stream) events.push(JSON.stringify(event));
        return events;
      };
      const live = await told(journal.run("r"));
      expect(live.filter((event) => event.includes('"text.delta"')).length).toBeGreaterThan(1);
      expect(await told(journal.replay("r"))).toEqual(live);
      expect(JSON.stringify([live, await listed(journal.entries("r"))])).not.toContain(secret);
    }),
    { numRuns: 60 },
  );
});
