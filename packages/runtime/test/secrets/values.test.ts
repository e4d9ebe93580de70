import { inspect } from "node:util";
import { defineEvent, definePrompt, defineTool } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { rejection } from "../support.ts";
import { printed, shownBy } from "./support.ts";

const secret = "sk-Käy/with+signs=\"and' 1234";
const hello = definePrompt({ key: "hello", text: "Hello." }).bind();

async function causeShown(cause: unknown): Promise<Error> {
  const adapter = modelAdapter(scriptedModel([{ error: cause as Error }]), { secrets: [secret] });
  return rejection(adapter.evaluate(hello));
}

/** Nothing where there is a circle, or what throws. */
function textBy(write: () => string | undefined): string {
  try {
    return write() ?? "";
  } catch {
    return "";
  }
}

const json = (text: string): string => JSON.stringify(text).slice(1, -1);
const ascii = (text: string): string =>
  json(text).replaceAll(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
const forPages = (text: string): string =>
  json(text).replaceAll(/[&<>']/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`);
const base64 = (text: string): string => Buffer.from(text).toString("base64");

test.each([
  ["as it is", secret],
  ["with blanks around it", `  ${secret}\n`],
  ["in JSON", json(secret)],
  ["in JSON inside JSON", json(json(secret))],
  ["in JSON of ASCII", ascii(secret)],
  ["in JSON with escaped slashes", json(secret).replaceAll("/", "\\/")],
  ["in JSON as Go and PHP write it", forPages(secret)],
  [
    "in JSON for pages, with capital letters",
    forPages(secret).replaceAll(/\\u..../g, (code) => `\\u${code.slice(2).toUpperCase()}`),
  ],
  ["in a path", encodeURIComponent(secret)],
  ["in a path, with small letters", encodeURIComponent(secret).replaceAll(/%../g, (code) => code.toLowerCase())],
  ["in an address", encodeURI(secret)],
  ["in a form", new URLSearchParams({ "": secret }).toString().slice(1)],
  ["in base64", base64(secret)],
  ["in base64 after one character", base64(`:${secret}`)],
  ["in base64 after two", base64(`u:${secret}`)],
  ["in base64 after five, with more behind it", base64(`user:${secret} and more`)],
  ["in base64 for addresses", Buffer.from(`u:${secret}`).toString("base64url")],
])("SEC-1 a secret written %s is hidden", async (_, written) => {
  const { events } = await shownBy([secret], [{ text: `It is <${written}>.` }], hello);
  const text = (events.at(-1) as { readonly text?: string }).text ?? "";
  expect(text).toContain("[secret]");
  for (const part of ["sk-K", "with", "signs", "1234"]) expect(text).not.toContain(part);
  const left = [0, 1, 2, 3].map((from) => Buffer.from(text.slice(text.indexOf("<") + 1 + from), "base64").toString());
  for (const part of ["sk-K", "with", "sign", "1234"]) expect(left.join()).not.toContain(part);
});

test("SEC-1 base64 is recognised in JSON that escapes slashes", async () => {
  const slashes = "???>>>???>>>";
  const written = base64(slashes).replaceAll("/", "\\/");
  expect(written).toBe("Pz8\\/Pj4+Pz8\\/Pj4+");
  const { events } = await shownBy([slashes], [{ text: `It is <${written}>.` }], hello);
  expect((events.at(-1) as { readonly text?: string }).text).toBe("It is <[secret]>.");
});

test("SEC-1 of a key with a line feed behind it the key is hidden, too", async () => {
  const { events } = await shownBy(["sk-key-of-a-file\n"], [{ text: "It is sk-key-of-a-file." }], hello);
  expect(events.at(-1)).toMatchObject({ text: "It is [secret]." });
});

test("SEC-1 secrets that overlap go together, and what is hidden already is not hidden again", async () => {
  const { events } = await shownBy(["abcdef", "defghi"], [{ text: "abcdefghi" }], hello);
  expect(events.at(-1)).toMatchObject({ text: "[secret]" });
  const { error, events: failed } = await shownBy(["secret"], [{ error: new Error("a secret") }], hello);
  expect(error?.message).toBe("a [secret]");
  expect(failed.at(-1)).toMatchObject({ message: "a [secret]" });
});

test("SEC-1 a secret of digits is hidden in numbers, too", async () => {
  const output = z.object({ card: z.number() });
  const prompt = definePrompt({ key: "card", output, text: "Card?" }).bind();
  const { events } = await shownBy(["4111222233334444"], [{ text: '{"card":4111222233334444}' }], prompt);
  expect(events.at(-1)).toMatchObject({ output: { card: "[secret]" } });
});

const { proxy: revoked, revoke } = Proxy.revocable({}, {});
revoke();

class Held {
  readonly #token = secret;
  [inspect.custom](): string {
    return this.#token;
  }
}
class Told {
  readonly token = secret;
  readonly harmless = 1;
}
class Spoken {
  readonly #token = secret;
  toString(): string {
    return this.#token;
  }
}
class Written {
  readonly #token = secret;
  toJSON(): object {
    return { token: this.#token };
  }
}
const circle: Record<string, unknown> = { secret };
circle["self"] = { circle };
const deep = Array.from({ length: 5_000 }).reduce<object>((inner) => ({ inner }), { secret });
const named = Object.assign(new Error("no"), { name: secret });
const function_ = Object.assign(() => 1, { secret });
const hidden = {
  get secret(): string {
    return secret;
  },
};
const throwing = {
  get it(): string {
    throw new Error("no");
  },
  secret,
};

test.each<[string, unknown]>([
  ["Headers", new Headers({ authorization: `Bearer ${encodeURIComponent(secret)}` })],
  ["a Map", new Map([["key", { secret }]])],
  ["a Map, as a key", new Map([[secret, 1]])],
  ["a Set", new Set([[secret]])],
  ["a URL", new URL(`http://host/?key=${encodeURIComponent(secret)}`)],
  ["URLSearchParams", new URLSearchParams({ secret })],
  [
    "FormData",
    (() => {
      const form = new FormData();
      form.set("key", secret);
      return form;
    })(),
  ],
  ["a Request", new Request("http://host/", { headers: { authorization: encodeURIComponent(secret) } })],
  ["bytes", Buffer.from(`key ${secret}`)],
  ["a class's property", new Told()],
  ["what a class prints", new Held()],
  ["what a class says", new Spoken()],
  ["what a class writes", new Written()],
  ["a symbol's key", { [Symbol("key")]: secret }],
  ["a symbol", { [Symbol(secret)]: 1 }],
  ["a function", { call: function_ }],
  ["a getter", hidden],
  ["a property beside one that throws", throwing],
  ["a circle", circle],
  ["great depth", deep],
  ["an error's name", named],
  ["an error's cause", new Error("a", { cause: new Error("b", { cause: secret }) })],
  ["one of several errors", new AggregateError([new Error(secret)], "several")],
  ["a boxed text", Object(secret)],
  ["a list beside a revoked proxy", [revoked, secret]],
  ["a null object", Object.assign(Object.create(null) as object, { secret })],
])("SEC-1 a secret in %s of an error or a payload is not shown", async (_, held) => {
  const forms = [secret, encodeURIComponent(secret), json(secret), base64(secret)];
  const error = await causeShown(Object.assign(new Error("refused", { cause: held }), { held }));
  const { error: refused } = await shownBy(
    [secret],
    [{ failure: "provider", reason: "unknown", message: "no", payload: { held } }],
    hello,
  );
  for (const shown of [error, error.cause, (error.cause as Error).cause, refused, refused?.["providerPayload"]]) {
    const texts = [
      printed(shown),
      textBy(() => String(shown)),
      textBy(() => JSON.stringify(shown)),
      inspect(shown, { showHidden: true, depth: 8 }),
    ];
    for (const text of texts) for (const form of forms) expect(text).not.toContain(form);
  }
});

test("SEC-1 what takes a secret's place keeps its form as far as there is one", async () => {
  const key = "sk-plain-0123";
  const payload = {
    map: new Map([["a", key]]),
    set: new Set([key]),
    url: new URL(`http://host/${key}`),
    told: { ["__proto__"]: key },
  };
  const { error } = await shownBy([key], [{ failure: "provider", reason: "unknown", message: "no", payload }], hello);
  expect(error?.["providerPayload"]).toEqual({
    map: new Map([["a", "[secret]"]]),
    set: new Set(["[secret]"]),
    url: "http://host/[secret]",
    told: { ["__proto__"]: "[secret]" },
  });
});

test("SEC-1 what shows no secret stays the very object, of whatever class", async () => {
  const kept = { map: new Map([["a", 1]]), date: new Date(0), url: new URL("http://host/"), own: new Set([1]) };
  const cause = Object.assign(new Error("socket closed"), { kept });
  const error = await causeShown(cause);
  expect(error.cause).toBe(cause);
  const happened = defineEvent("happened", z.object({ map: z.any(), text: z.string() }));
  const heard: unknown[] = [];
  const session = createSession();
  session.on(happened, (event) => void heard.push(event.map, event.text));
  const tool = defineTool({
    name: "happen",
    description: "Happens.",
    input: z.object({}),
    execute: (_, context) => void context.session.dispatch(happened({ map: kept.map, text: secret })),
  });
  const prompt = definePrompt({ key: "p", sections: [{ key: "s", text: "Go.", tools: [tool] }] }).bind();
  const model = scriptedModel([{ toolCalls: [{ name: "happen" }] }, { text: "done" }]);
  await modelAdapter(model, { secrets: [secret] }).evaluate(prompt, { session });
  expect(heard[0]).toBe(kept.map);
  expect(heard[1]).toBe("[secret]");
});

test("SEC-1 a listener's error shows no secret, and the answer that was paid for is still there", async () => {
  const session = createSession();
  session.on("prompt.executed", () => {
    throw new Error(`not ${secret}`);
  });
  const adapter = modelAdapter(scriptedModel([{ text: `It is ${secret}.` }]), { secrets: [secret] });
  const error = await rejection(adapter.evaluate(hello, { session }));
  expect(printed(error)).not.toContain("signs=");
  expect(JSON.stringify(error)).not.toContain("signs=");
  expect(error).toMatchObject({ code: "listener", response: { text: `It is ${secret}.` } });
});
