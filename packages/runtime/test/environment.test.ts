import { DefinitionError } from "@proviso/core";
import { agentAdapter, modelAdapter, type AdapterOptions } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";

const log = (): void => {};
const complete = { debug: log, info: log, warn: log, error: log };
const logger = "The option logger must be a logger, pino or console for example, with debug, info, warn, error";
const clock = "The option clock must be a clock with now, sleep";

test.each<readonly [name: string, given: unknown, message: string]>([
  ["logger", null, `${logger}, not null.`],
  ["logger", 5, `${logger}, not 5.`],
  ["logger", "console", `${logger}, not "console".`],
  ["logger", {}, `${logger}: it has no function debug.`],
  ["logger", log, `${logger}: it has no function debug.`],
  ["logger", { ...complete, error: true }, `${logger}: it has no function error.`],
  ["logger", { ...complete, isLevelEnabled: true }, "The option logger.isLevelEnabled must be a function, not true."],
  ["clock", null, `${clock}, not null.`],
  ["clock", { now: () => 0 }, `${clock}: it has no function sleep.`],
  ["random", null, "The option random must be a function, not null."],
  ["random", 0.5, "The option random must be a function, not 0.5."],
  ["newId", null, "The option newId must be a function, not null."],
  ["newId", "id", 'The option newId must be a function, not "id".'],
])("ERR-1 LOG-2 the option %s is refused when the adapter is made: %j", (name, given, message) => {
  const options: AdapterOptions = { [name]: given };
  const agent = { name: "agent", model: "m", capabilities: {}, drive: async () => ({}) as never };
  for (const make of [() => modelAdapter(scriptedModel([]), options), () => agentAdapter(agent, options)]) {
    expect(make).toThrow(DefinitionError);
    expect(make).toThrow(message);
  }
});

test("LOG-2 a logger whose functions stand in its class is one, and what is left out is the default", async () => {
  const records: string[] = [];
  class Log {
    debug(): void {}
    info(): void {}
    warn(): void {}
    error(_: object, message: string): void {
      records.push(message);
    }
  }
  const failed = { failure: "provider", reason: "unknown", message: "no" } as const;
  const options = { logger: new Log(), clock: undefined, random: undefined, newId: undefined };
  await expect(modelAdapter(scriptedModel([failed]), options).evaluate("Hi.")).rejects.toThrow("no");
  expect(records).toEqual(["prompt.error"]);
});
