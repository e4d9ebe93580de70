import { definePrompt, defineTool, type Prompt } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { beginningOf, endOf, openSecrets } from "@proviso/runtime/internal";
import { recordEvents, scriptedModel } from "@proviso/runtime/testing";
import fc from "fast-check";
import { expect, inject, test } from "vitest";
import { z } from "zod";
import { all, answer, hello, streamingModel, textsOf } from "../streaming/support.ts";
import { rejection } from "../support.ts";
import { recordingLogger } from "./support.ts";

const key = "sk-very-secret-1234";
/** JSON inside JSON, so deep. */
const deepest = 4;

const note = defineTool({
  name: "note",
  description: "Notes.",
  input: z.object({ text: z.string() }),
  execute: ({ text }) => ({ text }),
});
const noting: Prompt<string> = definePrompt({
  key: "noting",
  sections: [{ key: "ask", text: "Note.", tools: [note] }],
}).bind();

/** A letter as JSON may write it. */
const unicode = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
const escaped = (text: string): string => text.replaceAll(/./gs, unicode);
const json = (text: string): string => JSON.stringify(text).slice(1, -1);

/** A text as it is, and with the escapes read that stand anywhere in it, so often. */
function readings(text: string): readonly string[] {
  const found = [text];
  for (let left = deepest; left > 0; left--) {
    found.push(
      (found.at(-1) as string).replaceAll(
        /\\(?:u[\da-f]{4}|["\\/bfnrt])/gi,
        (written) => JSON.parse(`"${written.replace(/^\\U/, "\\u")}"`) as string,
      ),
    );
  }
  return found;
}

/** Every text in a value. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.entries(value).flat().flatMap(textsIn) : [];
}

test.each([
  ["one letter", String.raw`\u0073k-very-secret-1234`],
  ["the last letter", String.raw`sk-very-secret-123\u0034`],
  ["every letter", escaped(key)],
  ["letters in JSON inside JSON", json(String.raw`sk-\u0076ery-secret-1234`)],
  ["letters in JSON four deep", json(json(json(String.raw`sk-\u0076ery-secret-1234`)))],
  ["an escape that is escaped", String.raw`\u005cu0073k-very-secret-1234`],
  ["one letter once and another one twice", String.raw`\u0073k-very-\\u0073ecret-1234`],
])("SEC-1 a key with %s escaped in the arguments of a call is in no event, log or error", async (_, written) => {
  const session = createSession();
  const events = recordEvents(session);
  const logger = recordingLogger();
  const calls = [
    `{"text":"it is ${written}!"}`,
    `{"text":"it is ${written}`,
    `{"tex":"${written}"}`,
    `{"${written}":1}`,
  ];
  const model = scriptedModel([
    { toolCalls: calls.map((given) => ({ name: "note", arguments: given })) },
    { failure: "provider", reason: "unknown", message: `no: ${written}`, payload: { body: written } },
  ]);
  const error = await rejection(modelAdapter(model, { secrets: [key], logger }).evaluate(noting, { session }));
  const texts = textsIn([events, logger.records, error, error.message, error.stack]);
  for (const text of texts) for (const read of readings(text)) expect(read).not.toContain(key);
  // The answer's four calls, the calls that begin and end, the messages, the failure.
  expect(texts.filter((text) => text.includes("[secret]")).length).toBeGreaterThan(16);
});

const runs = inject("exhaustive") ? 1_000 : 150;
const units = ["k", "7", "u", "0", "\\", '"', "/", "\n", "é", "\ud83d", "\ude00"];
const shorts: Readonly<Record<string, string>> = { "\\": "\\\\", '"': '\\"', "/": "\\/", "\n": "\\n" };
const ways = ["plain", "plain", "short", "small", "capital"] as const;

/** A text in JSON, each of its letters in the next of the ways. */
function written(text: string, hows: readonly (typeof ways)[number][]): string {
  return text
    .split("")
    .map((char, at) => {
      const how = hows[at % hows.length];
      if (how === "small") return unicode(char);
      if (how === "capital") return `\\u${unicode(char).slice(2).toUpperCase()}`;
      return how === "short" || ["\\", '"', "\n"].includes(char) ? (shorts[char] ?? char) : char;
    })
    .join("");
}

const letters = (minLength: number, maxLength: number) =>
  fc.array(fc.constantFrom(...units), { minLength, maxLength }).map((list) => list.join(""));
/** A secret, and a text that holds it in JSON, JSON in JSON or so. */
const hidingOf = (secrets: fc.Arbitrary<string>) =>
  fc
    .record({
      secret: secrets.filter((secret) => secret.trim() !== ""),
      before: letters(0, 6),
      after: letters(0, 6),
      hows: fc.array(fc.array(fc.constantFrom(...ways), { minLength: 1, maxLength: 9 }), {
        minLength: 1,
        maxLength: 3,
      }),
      cuts: fc.array(fc.nat(120), { maxLength: 6 }),
    })
    .map(({ secret, before, after, hows, cuts }) => {
      const text = hows.reduce(written, `x${before}${secret}${after}x`);
      return {
        secret,
        text,
        cuts: [...cuts.map((at) => Math.min(at, text.length)), text.length].sort((a, b) => a - b),
      };
    });
const hiding = hidingOf(letters(2, 7));

test("SEC-1 however the letters of a secret are escaped, what hides it leaves nothing that reads as the secret", () => {
  fc.assert(
    fc.property(hiding, ({ secret, text }) => {
      const shown = openSecrets([secret])?.redact(text) ?? "";
      expect(shown).toContain("[secret]");
      for (const read of readings(shown)) expect(read).not.toContain(secret);
    }),
    { numRuns: 3 * runs, seed: 5 },
  );
});

test("STR-1 SEC-1 however a stream is split, also inside of an escape, its deltas never read as the secret", async () => {
  await fc.assert(
    fc.asyncProperty(hiding, async ({ secret, text, cuts }) => {
      const pieces = cuts.map((at, index) => text.slice(cuts[index - 1] ?? 0, at));
      const model = streamingModel([{ pieces, answer: answer(text) }]);
      const events = await all(modelAdapter(model, { secrets: [secret] }).stream(hello));
      let shown = "";
      for (const part of textsOf(events)) {
        shown += part;
        for (const read of readings(shown)) expect(read).not.toContain(secret);
      }
      // Where half of a surrogate pair is U+FFFD, a secret that it was a part of is none any more.
      if (!text.isWellFormed() || !secret.isWellFormed()) return;
      expect(events.at(-1)).toMatchObject({ text: shown });
      expect(shown).toContain("[secret]");
      expect(shown).toBe(openSecrets([secret])?.redact(text));
    }),
    { numRuns: runs, seed: 5 },
  );
});

test("SEC-1 of a secret with escapes that a cut would go through no letter is left", () => {
  fc.assert(
    fc.property(hidingOf(fc.constantFrom("QRSTVW", "QRS/TV\nW", "Q\\RS")), fc.nat(120), ({ secret, text }, most) => {
      const secrets = openSecrets([secret]);
      for (const part of [beginningOf(text, most, secrets), endOf(text, most, secrets)]) {
        expect(part.length).toBeLessThanOrEqual(most);
        for (const read of readings(secrets?.redact(part) ?? "")) expect(read).not.toMatch(/[Q-W]/);
      }
    }),
    { numRuns: 3 * runs, seed: 5 },
  );
});

test.each([
  ["backslashes", "\\"],
  ["escapes", "\\u006b"],
  ["escapes of escapes", "\\\\u005cu006b"],
  ["the beginning of an escape", "\\u00"],
])("SEC-1 the work of reading %s is linear in the text", (_, unit) => {
  const secrets = openSecrets(["k".repeat(2_000) + "e", `${"\\".repeat(2_000)}e`]);
  const timeOf = (length: number): number => {
    const text = unit.repeat(Math.ceil(length / unit.length));
    const before = process.cpuUsage();
    expect(secrets?.redact(text)).toBe(text);
    expect(beginningOf(text, text.length / 2, secrets).length).toBeGreaterThan(length / 2 - 30_000);
    const pieces = secrets?.pieces();
    let shown = "";
    for (let at = 0; at < text.length; at += 7) shown += pieces?.add(text.slice(at, at + 7));
    expect(shown + pieces?.end()).toBe(text);
    return process.cpuUsage(before).user;
  };
  timeOf(50_000);
  const [short, long] = [timeOf(50_000), timeOf(400_000)];
  // Eight times the text: sixty-four times the work if anything were looked at with all that is before it.
  expect(long / short).toBeLessThan(24);
});

test.each([
  ["at the beginning", `{"text": ${key}}`],
  ["in the middle", `{"text": "${"x".repeat(40)}", "more": ${key}, "text": "${"x".repeat(40)}"}`],
  ["with an escape", `{"text": ${escaped(key)}}`],
])("SEC-1 TOOL-1 why arguments are no JSON is shown without a part of a key %s", async (_, given) => {
  const session = createSession();
  const events = recordEvents(session);
  const model = scriptedModel([{ toolCalls: [{ name: "note", arguments: given }] }, { text: "ok" }]);
  await modelAdapter(model, { secrets: [key] }).evaluate(noting, { session });
  const texts = textsIn(events).filter((text) => text.includes("could not be read"));
  expect(texts.length).toBeGreaterThan(1);
  for (const text of texts) expect(text).not.toMatch(/sk-|secret|0073/);
});

test.each(["", " ", "x", "\\", "\\\\", "C:\\"])(
  "SEC-1 a secret that JSON escapes is hidden directly behind %j, in JSON inside JSON too",
  async (before) => {
    const secret = 'top"secret"key\\9';
    for (const written of [json(secret), json(json(secret))]) {
      const session = createSession();
      const shown: string[] = [];
      session.on("provider.responded", ({ text }) => void shown.push(text));
      const model = scriptedModel([{ text: before + written }]);
      await modelAdapter(model, { secrets: [secret] }).evaluate("Say it.", { session });
      // The backslash goes with the letter behind it, which reads as an escape.
      expect(shown).toEqual([`${before.replace(/\\+$/, "")}[secret]`]);
    }
  },
);

test.each(["tok-secret-77", "never-shown", "bearer-of-1", "far-too-long", "rock-and-roll", "ucafe-and-more"])(
  "SEC-1 STR-1 %s with escaped letters is hidden directly behind a backslash, however it is split",
  async (secret) => {
    const escaped = (at: number): string =>
      `${secret.slice(0, at)}\\u${secret.charCodeAt(at).toString(16).padStart(4, "0")}${secret.slice(at + 1)}`;
    for (const at of [5, secret.length - 1]) {
      const text = `DOMAIN\\${escaped(at)} and on`;
      expect(openSecrets([secret])?.redact(text)).toBe("DOMAIN[secret] and on");
      for (let size = 1; size <= text.length; size += 3) {
        const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, n) =>
          text.slice(n * size, (n + 1) * size),
        );
        const model = streamingModel([{ pieces, answer: answer(text) }]);
        const events = await all(modelAdapter(model, { secrets: [secret] }).stream(hello));
        expect(textsOf(events).join("")).toBe("DOMAIN[secret] and on");
      }
    }
  },
);
