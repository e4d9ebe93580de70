import { validateHeaderName, validateHeaderValue } from "node:http";
import type { Chaos } from "./chaos.ts";
import { checkFault } from "./faults.ts";
import type { RateLimit } from "./limit.ts";
import { hasNoBody, isObject, type AnswerStep, type HttpStep, type SimulatedSearch } from "./types.ts";
import type { SimulatorOptions } from "./server.ts";

type Keys<T> = { readonly [key in keyof T]-?: true };

const optionKeys: Keys<SimulatorOptions> = {
  steps: true,
  rules: true,
  latencyMs: true,
  chunkCharacters: true,
  eventMs: true,
  port: true,
  apiKey: true,
  faults: true,
  chaos: true,
  rateLimit: true,
  keepRequests: true,
  onRequest: true,
  clock: true,
};
const answerKeys: Keys<AnswerStep> = {
  text: true,
  output: true,
  toolCalls: true,
  reasoning: true,
  searches: true,
  refusal: true,
  usage: true,
  finishReason: true,
  afterMs: true,
  fault: true,
  chunkCharacters: true,
  eventMs: true,
};
const httpKeys: Keys<HttpStep> = { status: true, headers: true, body: true, afterMs: true };
const chaosKeys: Keys<Chaos> = { seed: true, rate: true, faults: true, by: true };
const limitKeys: Keys<RateLimit> = { requestsPerMinute: true, tokensPerMinute: true, burst: true };
const callKeys = { name: true, arguments: true, id: true } as const;
const numberedKeys = { fault: true, at: true } as const;

/** @throws {TypeError} saying which option is wrong, and what it may be. */
export function checkOptions(options: SimulatorOptions): void {
  checkKeys(options, optionKeys, "The simulator's options");
  if (options.steps !== undefined && options.rules !== undefined) {
    throw new TypeError("Give the simulator steps or rules, not both.");
  }
  checkServing(options);
  checkScript(options);
}

function checkServing(options: SimulatorOptions): void {
  const { apiKey, onRequest, keepRequests, clock, rateLimit } = options;
  checkCount(options.latencyMs, "latencyMs");
  checkPace(options, "");
  if (options.port !== undefined && !(Number.isInteger(options.port) && options.port >= 0 && options.port < 65_536)) {
    throw new TypeError(`port must be a whole number from 0 to 65535, not ${shown(options.port)}.`);
  }
  if (apiKey !== undefined && (typeof apiKey !== "string" || apiKey === ""))
    throw new TypeError("apiKey must be a text that is not empty; left out, every key is taken.");
  if (onRequest !== undefined && typeof onRequest !== "function") throw new TypeError("onRequest must be a function.");
  if (keepRequests !== undefined && typeof keepRequests !== "boolean")
    throw new TypeError("keepRequests must be true or false.");
  if (clock !== undefined && (typeof clock.now !== "function" || typeof clock.sleep !== "function"))
    throw new TypeError("clock must have now and sleep.");
  if (rateLimit !== undefined) checkKeys(rateLimit, limitKeys, "rateLimit");
}

function checkScript(options: SimulatorOptions): void {
  if (options.chaos !== undefined) checkKeys(options.chaos, chaosKeys, "chaos");
  listOf(options.steps, "steps").forEach((step, index) => {
    if (typeof step !== "function") checkStep(step, `steps[${index}]`);
  });
  listOf(options.rules, "rules").forEach((rule, index) => {
    if (typeof rule !== "function") throw new TypeError(`rules[${index}] must be a function.`);
  });
  listOf(options.faults, "faults").forEach((entry, index) => {
    checkKeys(entry, numberedKeys, `faults[${index}]`);
    checkFault(entry.fault);
    const { at } = entry;
    if (at !== undefined && !(Number.isInteger(at) && at >= 0))
      throw new TypeError(`faults[${index}].at must be the number of a request, from 0, not ${shown(at)}.`);
  });
}

/** @throws {TypeError} for a step that is none. */
export function checkStep(step: AnswerStep | HttpStep, where: string): AnswerStep | HttpStep {
  const given: unknown = step;
  if (!isObject(given)) throw new TypeError(`${where} must be an object.`);
  if (given instanceof Promise) {
    // The promise is not awaited, so its rejection has to be swallowed here.
    given.catch(() => {});
    throw new TypeError(`${where} is a promise: rules and steps answer at once; afterMs delays an answer.`);
  }
  if ("status" in step) checkHttpStep(step, where);
  else checkAnswerStep(step, where);
  return step;
}

function checkAnswerStep(step: AnswerStep, where: string): void {
  checkKeys(step, answerKeys, where);
  const { fault, toolCalls, finishReason, usage } = step;
  if (fault !== undefined) checkFault(fault);
  checkCount(step.afterMs, `${where}.afterMs`);
  checkPace(step, `${where}.`);
  for (const key of ["text", "reasoning", "refusal"] as const) {
    const value = step[key];
    if (value !== undefined && typeof value !== "string") throw new TypeError(`${where}.${key} must be a text.`);
  }
  listOf(toolCalls, `${where}.toolCalls`).forEach((call, index) => {
    checkKeys(call, callKeys, `${where}.toolCalls[${index}]`);
    if (typeof call.name !== "string") throw new TypeError(`${where}.toolCalls[${index}].name must be a text.`);
  });
  listOf(step.searches, `${where}.searches`).forEach((search, index) =>
    checkSearch(search, `${where}.searches[${index}]`),
  );
  if (step.text !== undefined && step.output !== undefined)
    throw new TypeError(`${where} has a text and an output: the output is sent as the text, so leave out one.`);
  if (usage !== undefined && usage !== null && !isObject(usage))
    throw new TypeError(`${where}.usage must be an object, or null for none.`);
  if (finishReason !== undefined && !["stop", "length", "content_filter"].includes(finishReason))
    throw new TypeError(`${where}.finishReason must be "stop", "length" or "content_filter".`);
}

function checkSearch(search: SimulatedSearch, where: string): void {
  checkKeys(search, { query: true, results: true }, where);
  if (typeof search.query !== "string") throw new TypeError(`${where}.query must be a text.`);
  listOf(search.results, `${where}.results`).forEach((result, index) => {
    checkKeys(result, { url: true, title: true }, `${where}.results[${index}]`);
    if (typeof result.url !== "string" || typeof result.title !== "string")
      throw new TypeError(`${where}.results[${index}] must have a url and a title.`);
  });
}

function checkHttpStep(step: HttpStep, where: string): void {
  if ("fault" in step) {
    throw new TypeError(`${where} is an HTTP answer as it is, and takes no fault: leave out the status or the fault.`);
  }
  checkKeys(step, httpKeys, where);
  checkCount(step.afterMs, `${where}.afterMs`);
  const { status } = step;
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw new TypeError(`${where}.status must be a whole number from 200 to 599, not ${shown(status)}.`);
  if (hasNoBody(status) && step.body !== undefined)
    throw new TypeError(`${where}.status ${status} has no body: leave the body out.`);
  if (step.headers !== undefined) checkHeaders(step.headers, `${where}.headers`);
}

function checkHeaders(headers: unknown, where: string): void {
  if (!isObject(headers)) throw new TypeError(`${where} must be an object.`);
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== "string") throw new TypeError(`${where}[${JSON.stringify(name)}] must be a text.`);
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    } catch (error) {
      throw new TypeError(`${where}: ${(error as Error).message}.`, { cause: error });
    }
  }
}

function checkPace(pace: Pick<AnswerStep, "chunkCharacters" | "eventMs">, where: string): void {
  checkCount(pace.eventMs, `${where}eventMs`);
  const { chunkCharacters: size } = pace;
  if (size !== undefined && !(Number.isInteger(size) && size > 0))
    throw new TypeError(`${where}chunkCharacters must be a positive whole number, not ${shown(size)}.`);
}

function checkCount(ms: number | undefined, where: string): void {
  if (ms === undefined || (typeof ms === "number" && ms >= 0 && Number.isFinite(ms))) return;
  throw new TypeError(`${where} must be a number of milliseconds, 0 or more, not ${shown(ms)}.`);
}

function checkKeys(value: unknown, known: object, where: string): void {
  if (!isObject(value)) throw new TypeError(`${where} must be an object.`);
  const unknown = Object.keys(value).find((key) => !Object.hasOwn(known, key));
  if (unknown === undefined) return;
  throw new TypeError(`${where}: there is no "${unknown}". There are: ${Object.keys(known).join(", ")}.`);
}

function listOf<Item>(value: readonly Item[] | undefined, where: string): readonly Item[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new TypeError(`${where} must be a list.`);
  return value as readonly Item[];
}

/** A text is shown with its quotes: a number in quotes is what is wrong with it. */
function shown(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
