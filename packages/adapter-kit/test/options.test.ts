import { shownAddress, withShownAddresses } from "@proviso/runtime/internal";
import { DefinitionError } from "@proviso/core";
import { checkBaseURL, checkModelSettings, environmentVariable, type ModelSettings } from "@proviso/adapter-kit";
import { expect, test, vi } from "vitest";

const fine: readonly ModelSettings[] = [
  {},
  { temperature: 0, topP: 0, topLogprobs: 0, presencePenalty: -2, frequencyPenalty: -2, maxOutputTokens: 1 },
  { temperature: 2, topP: 1, topLogprobs: 20, presencePenalty: 2, frequencyPenalty: 2, timeoutMs: 2 ** 31 - 1 },
  { temperature: undefined, seed: -1, stop: [], stallMs: 1 },
];
test.each(fine)("PRO-2 %j will do", (settings) => {
  expect(() => checkModelSettings(settings)).not.toThrow();
});

test.each([
  [{ temperature: 2.1 }, "The option temperature must be a number from 0 to 2, not 2.1."],
  [{ temperature: "1" }, 'The option temperature must be a number from 0 to 2, not "1".'],
  [{ topP: Number.NaN }, "The option topP must be a number from 0 to 1, not NaN."],
  [{ topLogprobs: 1.5 }, "The option topLogprobs must be a whole number, not 1.5."],
  [{ presencePenalty: null }, "The option presencePenalty must be a number from -2 to 2, not null."],
  [{ maxOutputTokens: 0 }, "The option maxOutputTokens must be a positive whole number up to 9007199254740991, not 0."],
  [{ timeoutMs: 2 ** 31 }, "The option timeoutMs must be a positive whole number up to 2147483647, not 2147483648."],
  [{ stallMs: 0.5 }, "The option stallMs must be a positive whole number up to 2147483647, not 0.5."],
  [{ seed: "1" }, 'The option seed must be a whole number, not "1".'],
  [{ stop: "END" }, 'The option stop must be a list of texts, for example ["END"].'],
  [{ stop: [1] }, 'The option stop must be a list of texts, for example ["END"].'],
])("PRO-2 %j is refused, by name and range", (settings, message) => {
  expect(() => checkModelSettings(settings as ModelSettings)).toThrow(new DefinitionError(message));
});

test("PRO-2 an address begins with http:// or https://", () => {
  for (const address of ["http://localhost:4000", "https://example.com/v1"])
    expect(checkBaseURL(address)).toBe(address);
  for (const address of ["localhost:4000", "ftp://example.com", "/v1"]) {
    expect(() => checkBaseURL(address)).toThrow(DefinitionError);
  }
});

test.each([
  ["localhost:4000/v1", '"localhost:4000/v1"'],
  ["ftp://ada:s3cret-pass@example.com/v1?key=s3cret-pass", '"ftp://example.com/v1"'],
  ["//ada:s3cret/p@ss@example.com/v1", '"…@example.com/v1"'],
  ["sk-proj-s3cret-pass", "a text without one"],
  ["http://ada:s3cret-pass@example.com:8080/v1", '"http://example.com:8080/v1"'],
])("PRO-8 a base URL that is refused is shown without credentials: %s", (address, shown) => {
  const message = messageOf(() => checkBaseURL(address));
  expect(message).toContain(shown);
  expect(message).not.toContain("s3cret");
});

function messageOf(refuse: () => unknown): string {
  try {
    refuse();
  } catch (error) {
    return String(error);
  }
  return "It was taken.";
}

test("LLC-10 a variable that is blank is as if left out", () => {
  vi.stubEnv("PROVISO_TEST", " value\n");
  expect(environmentVariable("PROVISO_TEST")).toBe("value");
  vi.stubEnv("PROVISO_TEST", " ");
  expect(environmentVariable("PROVISO_TEST")).toBeUndefined();
  vi.unstubAllEnvs();
  expect(environmentVariable("PROVISO_TEST")).toBeUndefined();
});

test("LLC-10 a variable that must not be read is as if left out", () => {
  const env = new Proxy(
    {},
    {
      get(_, name) {
        throw new Error(`Requires env access to "${String(name)}"`);
      },
    },
  );
  vi.stubGlobal("process", { env });
  expect(environmentVariable("PROVISO_TEST")).toBeUndefined();
  vi.stubGlobal("process", undefined);
  expect(environmentVariable("PROVISO_TEST")).toBeUndefined();
});

test("SEC-1 SEC-5 a long address is shown up to a segment that would be cut", () => {
  const key = "sk-of-the-tests-0123456789";
  const path = "https://x.example/".padEnd(190, "p");
  expect(shownAddress(`${path}/${key}/v1`)).toBe(`${path}/…`);
  expect(shownAddress(`https://x.example/${"p".repeat(180)}${key}`)).toBe("https://x.example/…");
  expect(shownAddress(path)).toBe(path);
});

test.each([
  [
    "POST https://x.com/a?b=1 timed out; ask ops@x.com about it",
    "POST https://x.com/a timed out; ask ops@x.com about it",
  ],
  ["https://user:pass word@x.com/v1?token=tok99 failed", "https://x.com/v1 failed"],
  ["http://localhost:8080 failed for bob@x.com", "http://localhost:8080 failed for bob@x.com"],
  ["postgres://u:p@db/x and http://a:b@c/d: refused", "postgres://db/x and http://c/d: refused"],
  [`${"a".repeat(400_000)}://`, `${"a".repeat(400_000)}://`],
  ["no address: me@x.com", "no address: me@x.com"],
])("PRO-8 of the addresses that a text quotes the credentials are left out, and nothing else is: %#", (text, shown) => {
  const begun = process.cpuUsage();
  expect(withShownAddresses(text.repeat(1))).toBe(shown);
  expect(process.cpuUsage(begun).user).toBeLessThan(6_000_000);
});
