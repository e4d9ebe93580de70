import { definePrompt, isEvaluationFailure, type ModelFailure, type ProviderAdapter } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, failingModel, recordEvents, scriptedModel } from "@proviso/runtime/testing";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { fromSources } from "../../../scripts/from-sources.ts";

vi.setConfig({ testTimeout: 300_000 });

const ask = definePrompt({ key: "ask", params: z.object({ what: z.string() }), text: "Say {{what}}." });
const answer = definePrompt({ key: "answer", text: "Answer.", output: z.object({ label: z.string() }) }).bind();

describe("a scripted model", () => {
  test("LLC-16 serves whatever takes an adapter", async () => {
    const shout = async (adapter: ProviderAdapter) => (await adapter.evaluate(answer)).output.label.toUpperCase();
    expect(await shout(modelAdapter(scriptedModel([{ output: { label: "good" } }])))).toBe("GOOD");
  });

  test("LLC-31 answers the same again and again", async () => {
    const runs = await Promise.all(
      [1, 2].map(async () => {
        const session = createSession({ id: "s" });
        const events = recordEvents(session);
        const adapter = modelAdapter(scriptedModel([{ text: "Hello." }]), {
          newId: () => "id",
          clock: { now: () => 0, sleep: () => Promise.resolve() },
        });
        const { text, usage, messages } = await adapter.evaluate(ask.bind({ what: "hello" }), { session });
        return JSON.stringify([text, usage, messages, events]);
      }),
    );
    expect(runs[0]).toBe(runs[1]);
  });

  test("LLC-31 needs no test runner, no network and no key", async () => {
    const program = `
      import { definePrompt } from "@proviso/core";
      import { modelAdapter } from "@proviso/runtime";
      import { scriptedModel } from "@proviso/runtime/testing";
      import { registerHooks } from "node:module";
      globalThis.fetch = () => { throw new Error("The network."); };
      registerHooks({ resolve(name, context, next) {
        if (/^vitest|^node:(http|net)/.test(name)) throw new Error(name);
        return next(name, context);
      } });
      const adapter = modelAdapter(scriptedModel([{ text: "Hello." }]));
      console.log((await adapter.evaluate(definePrompt({ key: "a", text: "Hi." }).bind())).text);
    `;
    const args = [...fromSources, "--input-type=module-typescript", "-e", program];
    const cwd = new URL("..", import.meta.url).pathname;
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      cwd,
      env: { PATH: process.env["PATH"], NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] },
    });
    expect(stdout).toBe("Hello.\n");
  });

  test("LLC-32 counts its calls", async () => {
    const model = scriptedModel([{ text: "One." }, { text: "Two." }]);
    expect(model.callCount).toBe(0);
    for (const calls of [1, 2]) {
      await modelAdapter(model).evaluate(ask.bind({ what: "hello" }));
      expect(model.callCount).toBe(calls);
    }
  });

  test("LLC-33 remembers the last prompt and the last request", async () => {
    const model = scriptedModel([{ text: "One." }, { output: { label: "two" } }]);
    expect(model.lastPrompt).toBeUndefined();
    await modelAdapter(model).evaluate(ask.bind({ what: "hello" }));
    expect(model.lastPrompt).toBe("Say hello.");
    await modelAdapter(model).evaluate(answer);
    expect(model.lastPrompt).toBe("Answer.");
    const last = model.requests.at(-1);
    expect(last).toMatchObject({ tools: [], output: { schema: { type: "object" } } });
    expect(last?.messages).toEqual([{ role: "user", text: "Answer." }]);
  });

  test("LLC-16 a script takes a whole environment, as the adapter does, and waits on its clock", async () => {
    const environment = fakeEnvironment();
    const model = scriptedModel([{ text: "One.", afterMs: 1_000 }], environment);
    const evaluation = modelAdapter(model, environment).evaluate(ask.bind({ what: "hello" }));
    await environment.clock.advance(1_000);
    expect((await evaluation).output).toBe("One.");
  });

  test("LLC-34 reset forgets all of it, and the script begins again", async () => {
    const model = scriptedModel([{ text: "One." }]);
    await modelAdapter(model).evaluate(ask.bind({ what: "hello" }));
    model.reset();
    expect(model).toMatchObject({ callCount: 0, requests: [], lastPrompt: undefined });
    expect(() => model.assertDone()).toThrow("not used");
    expect((await modelAdapter(model).evaluate(ask.bind({ what: "hello" }))).text).toBe("One.");
  });
});

test("LLC-35 a failing model fails every request, as data or by throwing", async () => {
  const refused: ModelFailure = { failure: "provider", reason: "api_key", status: 401, message: "No." };
  for (const [failure, expected] of [
    [refused, { reason: "api_key", status: 401 }],
    [new Error("Oops."), { reason: "unknown" }],
  ] as const) {
    const adapter = modelAdapter(failingModel(failure));
    for (let i = 0; i < 3; i++) {
      const error = await adapter.evaluate(answer).catch((caught: unknown) => caught);
      expect(isEvaluationFailure(error)).toBe(true);
      expect(error).toMatchObject({ code: "provider", ...expected });
    }
  }
});
