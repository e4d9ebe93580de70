// A run that is interrupted again and again: by limits, by the end of its process before or after something is kept, by
// another process that takes it from a living one, and by decisions that come later; until it has an answer.
import {
  allow,
  deadlineIn,
  deny,
  type EvaluateOptions,
  Filesystem,
  isEvaluationFailure,
  provide,
  RunError,
  toolOk,
  type Clock,
  type JournalRun,
  type PromptResponse,
} from "@proviso/core";
import { createJournal, type Journal, type JournalStore } from "@proviso/journal";
import { memoryStore } from "@proviso/journal/internal";
import { memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, type FakeClock } from "@proviso/runtime/testing";
import { randomFrom, type Random } from "../random.ts";
import { listed, type Checked } from "./checked.ts";
import { checkEnd, checkFailed, keptCalls, ranAgain } from "./interrupted-checks.ts";
import { interruptedModel, interruptedPrompt, newDeeds, type Attempt, type Deeds } from "./interrupted-prompt.ts";
import { interruptedShapeOf, type Interruption, type InterruptedShape } from "./interrupted-shape.ts";

/** More attempts than any run needs: each of eight calls may wait in each of three turns. */
const mostAttempts = 60;
/** Milliseconds of the simulated clock in which an attempt has an end. */
const longest = 2_000;
/** Milliseconds that entries may wait: all are written where something waits for them, or a process is gone. */
const flushMs = 2_000;

export type Filed = ReturnType<typeof memoryFilesystem>;

/** What came of an attempt; "gone": its process has ended; "taken": another one takes over; "endless": nothing. */
type Came = PromptResponse<string> | Error | "gone" | "taken" | "endless";

type LoopOptions = Pick<EvaluateOptions, "maxTurns" | "toolChoice">;

/** The whole run, with all of its processes. */
export class Interrupted {
  readonly shape: InterruptedShape;
  readonly deeds: Deeds = newDeeds();
  readonly store = memoryStore();
  readonly seed: number;
  /** Clocks of processes that live. */
  readonly living = new Set<FakeClock>();
  readonly #random: Random;
  attempts = 0;

  constructor(seed: number) {
    this.seed = seed;
    this.shape = interruptedShapeOf(seed);
    this.#random = randomFrom(seed ^ 0x1f83d9ab);
  }

  /** A process of its own, whose time moves on with that of the others. */
  newProcess(interruption: Interruption = { how: "none", at: 0 }): Process {
    return new Process(this, interruption, ++this.attempts);
  }

  /** Moves time on in each process, until one of them comes to something; "endless": it does not. */
  async until<T>(coming: Promise<T>): Promise<T | "endless"> {
    let came: { readonly it: T } | undefined;
    coming.then(
      (it) => (came = { it }),
      () => {},
    );
    for (let ms = 0; came === undefined && ms < longest; ms++) {
      for (const clock of Array.from(this.living)) await clock.advance(1);
    }
    return (came as { readonly it: T } | undefined)?.it ?? "endless";
  }

  /** Milliseconds by which a timer rings before its time. */
  early(): number {
    return this.shape.ringsEarly ? this.#random.int(2) : 0;
  }
}

/** A process with one attempt. */
class Process implements Attempt {
  readonly number: number;
  readonly journal: Journal;
  readonly files: Filed = memoryFilesystem();
  readonly #of: Interrupted;
  readonly #interruption: Interruption;
  readonly #clock: FakeClock;
  readonly #environment: Omit<ReturnType<typeof fakeEnvironment>, "clock"> & { readonly clock: Clock };
  readonly #stopping = new AbortController();
  readonly #interrupted = Promise.withResolvers<"gone" | "taken">();
  #steps = 0;
  #appends = 0;
  #isGone = false;

  constructor(of: Interrupted, interruption: Interruption, number: number) {
    this.#of = of;
    this.#interruption = interruption;
    this.number = number;
    const environment = fakeEnvironment(number * 1_000 + (of.seed % 1_000), { turns: 2 });
    const { clock } = environment;
    this.#clock = clock;
    const sleep: Clock["sleep"] = (ms, signal) => clock.sleep(Math.max(0, ms - of.early()), signal);
    this.#environment = { ...environment, clock: { now: clock.now, sleep } };
    this.journal = createJournal(this.#store(), { flushMs });
  }

  /** Appends nothing once the process is gone, which may be before an append is kept, or after it. */
  #store(): JournalStore {
    const { store } = this.#of;
    const { how, at } = this.#interruption;
    const append: JournalStore["append"] = async (frames) => {
      const isHit = ++this.#appends === Math.ceil(at / 2);
      if (isHit && how === "crash before it is kept") this.#end();
      if (this.#isGone) return never();
      const kept = await store.append(frames);
      if (isHit && how === "crash when it is kept") this.#end();
      return this.#isGone ? never() : kept;
    };
    return { ...store, append, close: async () => {} };
  }

  #end(): void {
    this.#isGone = true;
    this.#of.living.delete(this.#clock);
    this.#interrupted.resolve("gone");
  }

  async step(ms: number): Promise<void> {
    if (this.#isGone) return never();
    const { how, at } = this.#interruption;
    if (++this.#steps === at) {
      // Entries are written now and then where nothing waits for them.
      if (how === "takeover" || how === "crash") await this.#written();
      if (how === "abort") this.#stopping.abort(new Error("The user aborts."));
      if (how === "crash") this.#end();
      if (how === "takeover") this.#interrupted.resolve("taken");
    }
    await this.#clock.sleep(ms);
    if (this.#isGone) await never();
  }

  async #written(): Promise<void> {
    if (this.#of.seed % 2 === 0) await this.journal.describe("r").catch(() => {});
  }

  /** Evaluates the run until it has an end, or is interrupted. */
  async evaluated(run: JournalRun, given: LoopOptions = {}): Promise<Came> {
    const { shape, deeds, living } = this.#of;
    const of = { shape, deeds, attempt: this };
    living.add(this.#clock);
    // The clocks of all processes show about the same.
    await this.#clock.advance(this.number * 5_000);
    const adapter = modelAdapter(interruptedModel(of), this.#environment);
    const { how, at } = this.#interruption;
    const options = {
      run,
      resources: [provide(Filesystem, this.files)],
      signal: this.#stopping.signal,
      ...given,
      ...(how === "deadline" ? { deadline: deadlineIn(at, this.#clock) } : {}),
      // A request of the scripted model costs 15 tokens; what was recorded before counts too.
      ...(how === "budget" ? { budget: { maxTotalTokens: 15 * Math.ceil(at / 3) } } : {}),
    };
    const prompt = interruptedPrompt(of);
    const evaluating = shape.isStreamed ? adapter.stream(prompt, options).response : adapter.evaluate(prompt, options);
    const ended = evaluating.catch((error: unknown) => error as Error).finally(() => void living.delete(this.#clock));
    return this.#of.until<Came>(Promise.race([ended, this.#interrupted.promise]));
  }
}

const never = (): Promise<never> => new Promise(() => {});

/** Attempts until one has an answer, which is then checked. */
export async function interrupted(checked: Checked, seed: number): Promise<void> {
  const of = new Interrupted(seed);
  const { shape } = of;
  checked.trace.push(JSON.stringify(shape));
  const decided: number[] = [];
  /** What the last attempt came to that added something: the others leave the run as it was (RSM-15). */
  let stands: Error | undefined;
  while (of.attempts < mostAttempts) {
    const plan = shape.interruptions[of.attempts];
    const kept = await keptCalls(createJournal(of.store));
    const process = of.newProcess(plan);
    const maxTurns = shape.turnLimits[of.attempts - 1];
    const came = await process.evaluated(process.journal.run("r", { takeOver: "alive" }), { maxTurns });
    const text = typeof came === "string" ? came : came instanceof Error ? `${came.name}: ${came.message}` : came.text;
    checked.trace.push(`attempt ${of.attempts} (${plan?.how ?? "none"} at ${plan?.at ?? 0}): ${text}`);
    for (const again of ranAgain(kept, of.deeds, process.number)) checked.not("RSM-2 done again:", again);
    if (typeof came === "object" && !(came instanceof Error)) {
      await checkEnd(checked, of, { response: came, files: process.files, decided });
      return;
    }
    if (came instanceof Error && !(await hasAddedNothing(of))) stands = came;
    if (came instanceof Error && process.number % 2 === 1) await checkFailed(checked, of, stands ?? came);
    if (came instanceof RunError && came.reason === "suspended") await decide(of, came, decided);
    else if (!isForeseen(of, came)) return checked.not(`RSM-1 attempt ${of.attempts} cannot go on:`, text);
  }
  checked.not("RSM-1 it never ends:", of.attempts);
}

async function hasAddedNothing({ store }: Interrupted): Promise<boolean> {
  const last = (await listed(createJournal(store).entries("r")).catch(() => [])).at(-1);
  return last?.kind === "ended" && last.isEmpty === true;
}

async function decide(
  { shape, store, attempts }: Interrupted,
  { pending }: RunError,
  decided: number[],
): Promise<void> {
  const { decisions } = shape;
  const how = decisions[decided.length % decisions.length] ?? "allow";
  // Asking again changes nothing.
  decided.push(attempts);
  if (how === "nothing" || pending === undefined) return;
  const decision = { allow: allow(), deny: deny("Decided: no."), result: { result: toolOk("by hand") } };
  // What may have been done is decided by its result, or not at all.
  await createJournal(store).resolve(pending.token, decision[how]);
}

/** Whether an attempt ends so by its interruption, or that of an earlier one whose process still lives. */
function isForeseen({ shape, attempts }: Interrupted, came: Came): boolean {
  if (came === "gone" || came === "taken") return true;
  if (!(came instanceof Error) || !isEvaluationFailure(came)) return false;
  const { how } = shape.interruptions[attempts - 1] ?? { how: "none" };
  const before = shape.interruptions.slice(0, attempts - 1);
  if (came instanceof RunError) return came.reason === "fenced" && before.some((each) => each.how === "takeover");
  if (came.code === "turns") return shape.turnLimits[attempts - 1] !== undefined;
  return came.code === (how === "abort" ? "aborted" : how);
}
