import { createHook } from "node:async_hooks";
import { DefinitionError } from "@proviso/core";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, inject, test, vi } from "vitest";
import type { OptionsCheck } from "@proviso/runtime";
import { contracts, languageModel, type Contract } from "./adapters.ts";

vi.setConfig({ testTimeout: 300_000 });

/** For each of the adapters. */
const numRuns = inject("exhaustive") ? 100 : 25;

fc.configureGlobal({ seed: 20_261_121, numRuns: 1000 });

const variables = ["OPENAI_API_KEY", "OPENAI_BASE_URL", "LITELLM_API_KEY", "LITELLM_BASE_URL", "AI_GATEWAY_API_KEY"];
beforeEach(() => {
  for (const name of variables) vi.stubEnv(name, "");
  // Somebody resolves an id.
  vi.stubGlobal("AI_SDK_DEFAULT_PROVIDER", { languageModel: () => languageModel });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
});

const anything = fc.anything({
  withBigInt: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withSet: true,
});
const names = [
  ..."model temperature topP maxOutputTokens timeoutMs stallMs stop seed headers extraBody providerOptions".split(" "),
  ..."apiKey baseURL api client throttle secrets toolChoice command args cwd env nativeOutput permissions".split(" "),
];
/** Options that will do, with anything in place of some. */
const spoilt = ({ fine }: Contract) =>
  fc.dictionary(fc.constantFrom(...names), anything, { maxKeys: 3 }).map((given) => ({ ...fine, ...given }));

/** Whose every property throws. */
const hostile = new Proxy(
  {},
  {
    get() {
      throw new Error("Do not look.");
    },
    ownKeys() {
      throw new Error("Do not look.");
    },
  },
);

/** What `checkOptions` should answer. */
function made({ make }: Contract, options: unknown): OptionsCheck {
  try {
    make(options);
    return { ok: true };
  } catch (error) {
    expect(error).toBeInstanceOf(DefinitionError);
    return { ok: false, reason: (error as DefinitionError).message };
  }
}

describe.each(contracts)("the options of $name", (contract) => {
  const { fine, check, make } = contract;
  const validate = (options: unknown) => check(options).ok;

  test("LLC-2 checkOptions answers whether the options will do", () => {
    expect(validate(fine)).toBe(true);
    expect(validate({})).toBe(false);
  });

  test("LLC-6 checkOptions never throws, whatever it is given", () => {
    fc.assert(
      fc.property(fc.oneof(anything, spoilt(contract)), (options) => {
        expect(typeof validate(options)).toBe("boolean");
      }),
      { numRuns },
    );
    expect(validate(hostile)).toBe(false);
  });

  test("LLC-6 checkOptions begins no connection, look-up or process", async () => {
    const begun: string[] = [];
    const init = (_: number, type: string): void => {
      if (/^(?:TCP|TLS|PIPE|PROCESS|GETADDRINFO|GETNAMEINFO|QUERY)/.test(type)) begun.push(type);
    };
    const hook = createHook({ init }).enable();
    try {
      expect(validate(fine)).toBe(true);
      expect(validate({})).toBe(false);
      for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
    } finally {
      hook.disable();
    }
    expect(begun).toEqual([]);
  });

  test("LLC-7 checkOptions answers what the adapter does: it refuses the same options with a DefinitionError", () => {
    fc.assert(
      fc.property(spoilt(contract), (options) => {
        expect(check(options)).toEqual(made(contract, options));
      }),
      { numRuns },
    );
  });

  test.each([undefined, null, 7, "openai", {}])("LLC-7 %o is refused with a DefinitionError", (options) => {
    expect(validate(options)).toBe(false);
    expect(() => make(options)).toThrow(DefinitionError);
  });

  test("LLC-8 options are never changed: frozen ones will do", () => {
    const throttle = Object.freeze({ maxAttempts: 2 });
    const options = Object.freeze({ ...fine, throttle, secrets: Object.freeze(["a-secret"]) });
    const before = { ...options };
    expect(validate(options)).toBe(true);
    make(options);
    expect(options).toEqual(before);
  });
});

const models = contracts.filter(({ fine }) => "model" in fine);

describe.each(models)("the ranges of $name", ({ fine, check }) => {
  const valid = (options: object) => check({ ...fine, ...options }).ok;

  test.each(["", " ", undefined, null, 7])("LLC-18 the model %o is none", (model) => {
    expect(valid({ model })).toBe(false);
  });

  test("LLC-19 temperature is from 0 to 2, and has no default", () => {
    for (const temperature of [0, 0.7, 2, undefined]) expect(valid({ temperature })).toBe(true);
    for (const temperature of [-0.1, 2.1, Number.NaN, Infinity, "1", null]) expect(valid({ temperature })).toBe(false);
    fc.assert(
      fc.property(fc.double(), (temperature) => {
        expect(valid({ temperature })).toBe(temperature >= 0 && temperature <= 2);
      }),
    );
  });

  test("LLC-20 maxOutputTokens is a whole number above 0", () => {
    for (const maxOutputTokens of [1, 2000, undefined]) expect(valid({ maxOutputTokens })).toBe(true);
    for (const maxOutputTokens of [0, -1, 0.5, Number.NaN, "2000", null])
      expect(valid({ maxOutputTokens })).toBe(false);
  });
});

describe.each(contracts)("the times of $name", ({ fine, check }) => {
  test("LLC-23 timeoutMs is a whole number above 0", () => {
    for (const timeoutMs of [1, 300_000, undefined]) expect(check({ ...fine, timeoutMs }).ok).toBe(true);
    for (const timeoutMs of [0, -1, 0.5, Number.NaN, 2 ** 31, "300", null])
      expect(check({ ...fine, timeoutMs }).ok).toBe(false);
  });
});

test.each([
  ["openai", "OPENAI_API_KEY"],
  ["litellm", "LITELLM_API_KEY"],
])("LLC-10 %s without a key is a DefinitionError that names %s", (name, variable) => {
  const { fine, make, check } = contracts.find((contract) => contract.name === name) as Contract;
  const options = { ...fine, apiKey: undefined };
  expect(check(options).ok).toBe(false);
  expect(() => make(options)).toThrow(DefinitionError);
  expect(() => make(options)).toThrow(variable);
  vi.stubEnv(variable, "sk-contract-0123456789");
  expect(check(options).ok).toBe(true);
});
