// Carries a plan out on a copy of the messages.
import type { Message, StoredFile, ToolMessage } from "@proviso/core";
import { messagesWithoutSecrets } from "../conversations/hide.ts";
import { isFailure, type Failure } from "../failures.ts";
import type { Run } from "../run.ts";
import type { Plan } from "./plan.ts";
import type { Policy } from "./policy.ts";
import { stubOf } from "./results.ts";
import { noteCharacters, standInOf, standInText, wholeCharacters, type StandIn } from "./stand-in.ts";
import { summarise } from "./summary.ts";
import { keepText } from "./texts.ts";

export interface ToShorten extends Pick<Policy, "summary"> {
  readonly plan: Plan;
  /** Tokens of a character. */
  readonly rate: number;
  /** Tokens of a request at most. */
  readonly room: number;
  /** Whether the model can read what is stored. */
  readonly isReadable: boolean;
}

export interface Shortened {
  readonly messages: readonly Message[];
  /** Where the prompt's own message stands now; undefined: it is not known. */
  readonly question: number | undefined;
  /** The ids of the calls whose results have become stubs. */
  readonly elided: readonly string[];
  readonly summarised: boolean;
  /** The messages as they were. */
  readonly transcript: StoredFile;
}

/** The messages as the plan says; the limit that was spent on the way; undefined: the history stays as the record has it. */
export async function shorten(
  run: Run,
  messages: readonly Message[],
  { plan, rate, summary, room, isReadable }: ToShorten,
): Promise<Shortened | Failure | undefined> {
  const standIn = await standInFor(run, messages, { plan, rate, summary, room });
  if (standIn === undefined || isFailure(standIn)) return standIn;
  if (run.tape?.keepsHistory(run, "shortened") === true) return undefined;
  const transcript = await keepText(run, JSON.stringify(messagesWithoutSecrets(messages, run.world.secrets)), {
    name: `history ${run.evaluationId} ${run.turn}.json`,
    mediaType: "application/json",
  });
  const now: (Message | undefined)[] = [...messages];
  for (const place of plan.stubs) now[place] = await stubOf(run, messages[place] as ToolMessage, isReadable);
  for (const place of plan.replaced) now[place] = undefined;
  const last = plan.replaced.at(-1);
  if (last !== undefined) now[last] = { role: "user", text: standInText(standIn) };
  const { question } = run.history;
  return {
    messages: now.filter((message) => message !== undefined),
    question: question && now.slice(0, question).filter((message) => message !== undefined).length,
    elided: plan.stubs.map((place) => (messages[place] as ToolMessage).callId),
    summarised: standIn.count > 0 && standIn.summarised === standIn.count,
    transcript,
  };
}

/** What stands for all that gave way, then and now; undefined: the history stays. */
async function standInFor(
  run: Run,
  messages: readonly Message[],
  { plan, rate, summary: options, room }: Omit<ToShorten, "isReadable">,
): Promise<StandIn | Failure | undefined> {
  const given = plan.replaced.map((place) => messages[place] as Message);
  const earlier = given.map(standInOf).filter((one) => one !== undefined);
  const fresh = given.filter((message) => standInOf(message) === undefined);
  const count = earlier.reduce((sum, one) => sum + one.count, fresh.length);
  const summarised = earlier.reduce((sum, one) => sum + one.summarised, 0);
  const summary = earlier
    .map((one) => one.summary)
    .filter((text) => text !== "")
    .join("\n\n");
  const most = Math.max(0, Math.floor(plan.standIn / rate) - noteCharacters);
  const kept = summary.slice(0, wholeCharacters(summary, most));
  const unsummarised: StandIn = { count, summarised, summary: kept };
  if (options === undefined || fresh.length === 0) return unsummarised;
  const ofOne = Math.min(most, Math.floor(options.maxTokens / rate));
  const made = await summarise(run, options, { messages: fresh, earlier: summary, most: ofOne, room });
  if (made === undefined || isFailure(made)) return made;
  return made === "" ? unsummarised : { count, summarised: count, summary: made };
}
