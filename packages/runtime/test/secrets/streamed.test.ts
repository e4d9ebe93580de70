import { modelAdapter } from "@proviso/runtime";
import { fakeEnvironment } from "@proviso/runtime/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { all, answer, hello, streamingModel, structured, textsOf } from "../streaming/support.ts";

const secret = "hunter2-long-secret";
const overloaded = { failure: "throttle", kind: "server_error", message: "overloaded" } as const;

function cut(text: string, size: number): readonly string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, at) => text.slice(at * size, (at + 1) * size));
}

async function streamed(text: string, pieces: readonly string[], secrets: readonly string[]) {
  const model = streamingModel([{ pieces, answer: answer(text) }]);
  return all(modelAdapter(model, { ...fakeEnvironment(), secrets }).stream(hello));
}

test.each([1, 3, 4, 7, 100])(
  "STR-1 SEC-1 a secret in pieces of %d characters is in no delta, and they add up",
  async (size) => {
    const text = `it is ${secret}, ${secret.slice(0, 9)} and ${secret}`;
    const events = await streamed(text, cut(text, size), [secret]);
    expect(textsOf(events).join("")).toBe("it is [secret], hunter2-l and [secret]");
    expect(events.at(-1)).toMatchObject({ type: "prompt.executed", text: textsOf(events).join("") });
  },
);

test("STR-1 SEC-1 what cannot become a secret any more is shown at once", async () => {
  const pieces = ["it is ", "hun", "ger", "hunter2", "-long-", "secret", "!"];
  const events = await streamed(pieces.join(""), pieces, [secret]);
  expect(textsOf(events)).toEqual(["it is ", "hunger", "[secret]", "!"]);
});

/** All parts of the text that are covered by a secret, however they overlap, replaced: by looking everywhere. */
function redactedSlowly(text: string, secrets: readonly string[]): string {
  const covered = new Set<number>();
  const joined = new Set<number>();
  for (const each of secrets) {
    for (let at = text.indexOf(each); at !== -1; at = text.indexOf(each, at + 1)) {
      for (let i = at; i < at + each.length; i++) {
        covered.add(i);
        if (i > at) joined.add(i);
      }
    }
  }
  return text
    .split("")
    .map((char, i) => (covered.has(i) ? (joined.has(i) ? "" : "[secret]") : char))
    .join("");
}

test("STR-1 SEC-1 however texts, secrets and pieces fall, the deltas add up to the redacted text", async () => {
  const letters = fc.string({ unit: fc.constantFrom("x", "y", "z"), minLength: 1, maxLength: 6 });
  const texts = fc.string({ unit: fc.constantFrom("x", "y", "z", " "), minLength: 1, maxLength: 40 });
  const given = fc.record({
    secrets: fc.array(letters, { minLength: 1, maxLength: 4 }),
    text: texts.filter((text) => text.trim() !== ""),
    size: fc.integer({ min: 1, max: 9 }),
  });
  await fc.assert(
    fc.asyncProperty(given, async ({ secrets, text, size }) => {
      const events = await streamed(text, cut(text, size), secrets);
      const sum = textsOf(events).join("");
      expect(sum).toBe(redactedSlowly(text, secrets));
      expect(events.at(-1)).toMatchObject({ text: sum });
      let shown = "";
      for (const part of textsOf(events)) {
        shown += part;
        for (const each of secrets) expect(shown).not.toContain(each);
      }
    }),
    { numRuns: 300, seed: 11 },
  );
});

test("THR-9 SEC-1 what an attempt that failed had held back is never shown", async () => {
  const environment = fakeEnvironment();
  const model = streamingModel([
    { pieces: [secret.slice(0, 12)], answer: overloaded },
    { pieces: ["Hel", "lo ", secret.slice(0, 5)], answer: overloaded },
    { pieces: ["Hello!"], answer: answer("Hello!") },
  ]);
  const reading = all(modelAdapter(model, { ...environment, secrets: [secret] }).stream(hello));
  await environment.clock.advance(60_000);
  expect(textsOf(await reading)).toEqual(["Hel", "lo ", "(reset)", "Hello!"]);
});

test.each([
  ["as it is", `{"note":"it is ${secret}!","n":1}`],
  ["with its letters escaped", `{"note":"it is \\u0068unter2-long-secret!","n":1}`],
])("STR-4 SEC-1 no part of a secret that is written %s is in an output.delta", async (_, text) => {
  const schema = z.object({ note: z.string(), n: z.number() });
  const model = streamingModel([{ pieces: text.split(""), answer: answer(text) }]);
  const adapter = modelAdapter(model, { ...fakeEnvironment(), secrets: [secret] });
  const events = await all(adapter.stream(structured(schema)));
  const partials = events.flatMap((event) => (event.type === "output.delta" ? [event.partial] : []));
  expect(JSON.stringify(partials)).not.toContain("hunt");
  expect(partials.at(-1)).toEqual({ note: "it is [secret]!", n: 1 });
});

test("STR-1 SEC-1 the work of holding back is linear in the text, whatever the secret repeats", async () => {
  const periodic = `${"ab".repeat(2_000)}c`;
  const timeOf = async (length: number): Promise<number> => {
    const text = "ab".repeat(length / 2);
    const model = streamingModel([{ pieces: cut(text, 16), answer: answer(text) }]);
    const adapter = modelAdapter(model, { secrets: [periodic] });
    const before = process.cpuUsage();
    expect(textsOf(await all(adapter.stream(hello))).join("")).toBe(text);
    const { user } = process.cpuUsage(before);
    return user;
  };
  await timeOf(20_000);
  const [short, long] = [await timeOf(20_000), await timeOf(160_000)];
  // Eight times the text: sixty-four times the work if each piece were looked at with all that is held back.
  expect(long / short).toBeLessThan(24);
});
