import { DefinitionError } from "@proviso/core";
import { definePrimitive, type PrimitiveDefinition, type PrimitiveSettings } from "@proviso/primitive";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { classifier, label, neverAsked, systemPrompt } from "./support.ts";

beforeEach(() => {
  for (const name of ["PROVISO_MODEL", "LITELLM_BASE_URL", "LITELLM_API_KEY"]) vi.stubEnv(name, "");
});
afterEach(() => {
  vi.unstubAllEnvs();
});

const block = { name: "classify", systemPrompt, output: label };
const ready = modelAdapter(neverAsked);
const made = (definition: object) => definePrimitive({ ...block, ...definition } as PrimitiveDefinition<typeof label>);

/** Frozen to its depth, so that whoever writes to it throws. */
function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || "~standard" in value) return value;
  for (const inner of Object.values(value)) frozen(inner);
  return Object.freeze(value);
}

describe("BLK-1 a primitive is immutable", () => {
  test("BLK-1 it is frozen, and a frozen definition will do", async () => {
    const { primitive } = classifier([{ output: { label: "good" } }], frozen({ throttle: { maxAttempts: 2 } }));
    expect(Object.isFrozen(primitive)).toBe(true);
    expect(await primitive.run("A fine day.")).toMatchObject({ success: true });
  });

  test("BLK-1 later changes of the definition have no effect", async () => {
    const model = scriptedModel([{ output: { label: "good" } }]);
    const on: "render_error"[] = ["render_error"];
    const policy = { on, recover: () => ({ data: { label: "bad" as const } }) };
    const definition = { ...block, adapter: modelAdapter(model), recovery: [policy], maxRepairs: 1 };
    const primitive = definePrimitive(definition);
    const asDefined = { ...definition };
    await primitive.run("A fine day.");
    expect(definition).toEqual(asDefined);
    definition.systemPrompt = "Shout.";
    on.length = 0;
    policy.recover = () => "bubble" as never;
    definition.recovery.length = 0;
    model.reset();
    await primitive.run("A fine day.");
    expect(model.requests[0]?.messages[0]).toEqual({ role: "system", text: systemPrompt });
    expect(await primitive.run("")).toMatchObject({ success: true, data: { label: "bad" } });
  });
});

describe("BLK-2 the model", () => {
  test("BLK-2 is PROVISO_MODEL where none is given", () => {
    vi.stubEnv("PROVISO_MODEL", "openai/gpt-5.4");
    expect(definePrimitive(block).model).toBe("openai/gpt-5.4");
    expect(definePrimitive({ ...block, model: "other" }).model).toBe("other");
  });

  test("BLK-2 neither is a DefinitionError that names both", () => {
    expect(() => definePrimitive(block)).toThrow(DefinitionError);
    expect(() => definePrimitive(block)).toThrow("PROVISO_MODEL");
  });

  test.each([
    [{ model: " " }, "model"],
    [{ model: 7 }, "model"],
    [{ model: "m", temperature: 2.1 }, "temperature"],
    [{ model: "m", temperature: Number.NaN }, "temperature"],
    [{ model: "m", temperature: "1" }, "temperature"],
    [{ model: "m", throttle: { maxAttempts: 0 } }, "maxAttempts"],
    [{ model: "m", maxRepairs: -1 }, "maxRepairs"],
    [{ model: "m", maxRecoveries: 0.5 }, "maxRecoveries"],
    [{ model: "m", name: "No Key" }, "No Key"],
    [{ model: "m", systemPrompt: " " }, "systemPrompt"],
    [{ model: "m", systemPrompt: undefined }, "systemPrompt"],
    [{ model: "m", output: undefined }, "output"],
    [{ model: "m", output: {} }, "Schema"],
    [{ model: "m", recovery: {} }, "recovery"],
    [{ model: "m", recovery: [{ on: ["render_error"] }] }, "recovery[0]"],
    [{ model: "m", recovery: [null] }, "recovery[0]"],
    [{ adapter: null }, "adapter"],
    [{ adapter: {} }, "adapter"],
    [{ model: "m", adapter: () => undefined }, "adapter"],
  ])("BLK-2 %o is refused at the definition", (definition, message) => {
    expect(() => made(definition)).toThrow(DefinitionError);
    expect(() => made(definition)).toThrow(message);
  });

  test("BLK-2 no definition at all is one too", () => {
    expect(() => definePrimitive(undefined as never)).toThrow(DefinitionError);
  });
});

describe("BLK-4 adapters", () => {
  test.each([{ temperature: 0 }, { model: "m" }, { throttle: { maxAttempts: 1 } }])(
    "BLK-4 %o cannot stand beside a ready adapter",
    (setting) => {
      expect(() => made({ adapter: ready, ...setting })).toThrow(DefinitionError);
      expect(() => made({ adapter: ready, ...setting })).toThrow("carries its own");
    },
  );

  test("BLK-4 a ready adapter needs no model, also where the environment has one", () => {
    vi.stubEnv("PROVISO_MODEL", "other");
    expect(definePrimitive({ ...block, adapter: ready }).model).toBeUndefined();
  });

  test("BLK-4 a function makes it once, of what is set and no more", async () => {
    const asked: PrimitiveSettings[] = [];
    const adapter = (settings: PrimitiveSettings) => {
      asked.push(settings);
      return modelAdapter(scriptedModel([{ output: { label: "good" } }, { output: { label: "bad" } }]));
    };
    const primitive = definePrimitive({ ...block, model: "m", temperature: 0, adapter });
    await primitive.run("One.");
    await primitive.run("Two.");
    expect(asked).toEqual([{ model: "m", temperature: 0 }]);
    expect(primitive.model).toBe("m");
  });

  test("BLK-4 what the function throws is thrown", () => {
    const adapter = () => {
      throw new DefinitionError("There is no key.");
    };
    expect(() => made({ model: "m", adapter })).toThrow("There is no key.");
  });
});
