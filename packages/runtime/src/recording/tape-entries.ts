// 1. First all is answered from what stands; from the first thing that is not there on, what happens is appended.
// 2. The time of a run moves with its entries: it is read from the clock as one is made, and from one that is taken.
// 3. After a fault nothing is emitted and nothing is appended any more.
import { JournalError, type Blobs, type PromptOverride } from "@proviso/core";
import { messageOf } from "@proviso/core/internal";
import type { World } from "../environment.ts";
import type { Run } from "../run.ts";
import { joinSecrets } from "../secrets.ts";
import type { SessionCore } from "../session/session-core.ts";
import type { Transaction } from "../transactions/transaction.ts";
import type { Difference } from "./compare.ts";
import type { EntryContent, EntryOf, JournalEntry, RecordedEvent } from "./entries.ts";
import { entryAt, flat, journalEntry, type KeptEntry, type MadeEntry } from "./kept-entry.ts";
import type { OpenedSource, RunSource } from "./run-source.ts";
import { divergedFault, TapeFault } from "./fault.ts";
import { emitEntry, type Delivery } from "./kept-calls.ts";
import { Prefix } from "./prefix.ts";
import { stepsIn } from "./steps.ts";
import { endlessWaitFor, whenFree, type Together } from "./together.ts";

/** The entries of one run, while it is evaluated: those that stand, and those that are appended. */
export class TapeEntries {
  readonly runId: string;
  readonly attempt: number;
  readonly isReplay: boolean;
  readonly isRerun = false;
  readonly clock: World["clock"];
  readonly evaluationId: string;
  readonly signal: AbortSignal;
  readonly source: RunSource;
  readonly opened: OpenedSource;
  readonly prefix: Prefix;
  /** Whether the run goes on where what is asked for is not what was recorded. */
  readonly adopts: boolean;
  /** What the run was adopted with last; undefined: it was not. */
  readonly adopted: EntryOf<"adopted"> | undefined;
  /** The override that was found now; undefined: none was. */
  protected foundOverride: PromptOverride | undefined;
  /** What the evaluation is given now that is not what the record says; undefined: nothing. */
  protected given: Extract<EntryContent, { readonly kind: "given" }> | undefined;
  /** Whether something was not as it was recorded, and that was let be. */
  differs = false;
  /** The time of the run, in epoch milliseconds. */
  now: number;
  /** Whether what happens is appended. */
  isLive: boolean;
  /** Whether the end is in the record: what comes later is not. */
  isOver = false;
  fault: TapeFault | undefined;
  /** What the last answer that stands costs, in US dollars; undefined: the record has it, or it is not known. */
  protected costUsd: number | undefined;
  /** Whether an evaluation inside a call has an answer that nothing has waited for yet. */
  protected hasUnwrittenAnswer = false;
  /** The run's own evaluation; undefined: it has not begun. */
  main: Run | undefined;
  protected core: SessionCore | undefined;
  protected readonly world: World;
  /** The body or the call in whose code the evaluation begins, which may wait for it. */
  protected readonly around: Transaction | undefined;
  /** Made for the first: few evaluations have one. */
  #delivering: WeakSet<object> | undefined;
  /** Whether the source makes entries whole when it writes them. */
  readonly #keeps: boolean;
  #next: number;

  constructor(source: RunSource, opened: OpenedSource, world: World, around: Transaction | undefined) {
    const begun = opened.entries[0];
    this.runId = source.id;
    this.attempt = opened.attempt;
    this.isReplay = source.mode === "replay";
    this.adopts = source.mode === "fork" || (source.mode === "run" && source.adopts === true);
    this.adopted = opened.entries.findLast((entry) => entry.kind === "adopted");
    this.clock = world.clock;
    this.signal = source.signal;
    this.source = source;
    this.#keeps = source.keep !== undefined;
    this.opened = opened;
    this.world = world;
    this.around = around;
    this.isLive = opened.entries.length === 0;
    this.now = begun?.at ?? world.clock.now();
    this.#next = opened.next;
    this.evaluationId = flat(begun?.evaluationId ?? world.newId());
    this.prefix = new Prefix(opened.entries, {
      pass: (entry) => this.#pass(entry),
      timed: (at) => (this.now = at),
    });
    this.prefix.own.add(this.evaluationId);
    if (!this.isLive) this.prefix.at = 1;
  }

  /** Events of the application that the record has, and that are delivered later. */
  get delivering(): WeakSet<object> {
    return (this.#delivering ??= new WeakSet());
  }

  /** The clock, the ids and the randomness of the record. */
  recordedWorld(world: World): World {
    const { random, newId } = this.world;
    return {
      ...world,
      secrets: joinSecrets(world.secrets, this.source.secrets),
      clock: { now: () => this.now, sleep: world.clock.sleep.bind(world.clock) },
      random: () => this.#drawn("number", random),
      newId: () => this.#drawn("string", newId),
    };
  }

  newSessionId(): string {
    return flat(this.world.newId());
  }

  /** Appends what happens now. */
  append(evaluationId: string, content: EntryContent | MadeEntry): void {
    if (this.fault !== undefined) return;
    this.tick();
    this.appendAt(evaluationId, content);
  }

  /** Appends without a look at the clock. */
  appendAt(evaluationId: string, content: EntryContent | MadeEntry): void {
    if (!this.isOver) this.#add(entryAt(this.now, evaluationId, content));
  }

  /** Appends an event that has the time of the run. */
  protected appendEvent(event: RecordedEvent): void {
    if (!this.isOver) this.#add(event);
  }

  #add(entry: KeptEntry): void {
    const index = this.#next++;
    if (this.#keeps) this.source.keep?.(entry);
    else this.source.append(journalEntry(entry, { index, attempt: this.attempt }));
  }

  /** Whether every request is answered from the record. */
  get sendsNothing(): boolean {
    return this.isReplay || this.opened.isEnded;
  }

  get blobs(): Blobs | undefined {
    return this.source.blobs;
  }

  /** Whether a write has failed that nothing waited for yet. */
  get hasFailed(): boolean {
    return this.source.hasFailed === true;
  }

  /**
   * Resolves when all that was appended is kept; `by` waits for it, default what is around the evaluation.
   * @throws {TapeFault}
   */
  flushed(by: Transaction | undefined = this.around): Promise<void> | undefined {
    this.assertMayWait(by);
    this.hasUnwrittenAnswer = false;
    const waiting = whenFree(this.source, by);
    if (waiting !== undefined) return waiting.then(() => this.flushed(by));
    return this.source.flush()?.catch((error: unknown) => this.fail(this.faultOf(error)));
  }

  /** @throws {TapeFault} where what is appended could never be kept before that goes on which waits for it. */
  assertMayWait(by: Transaction | undefined = this.around): void {
    const failure = endlessWaitFor(this.source, by);
    if (failure !== undefined) this.fail(new TapeFault("journal", failure.message, { failure }));
  }

  /** The file of the run, where resources may be in it too. */
  get together(): Together | undefined {
    return this.source.together;
  }

  /** Writes what was appended into the transaction that is open in the file of the run. @throws {TapeFault} */
  writeTogether(): void {
    try {
      this.source.together?.write();
    } catch (error) {
      this.fail(this.faultOf(error));
    }
  }

  /** @throws the fault, which is the run's from now on. */
  fail(fault: TapeFault): never {
    this.fault ??= fault;
    throw this.fault;
  }

  faultOf(error: unknown): TapeFault {
    if (error instanceof TapeFault) return error;
    const cause = error instanceof JournalError ? error : undefined;
    const reason = cause?.reason === "fenced" ? "fenced" : "journal";
    const message =
      reason === "fenced"
        ? `The run "${this.runId}" was taken over by another process.`
        : `The run "${this.runId}" cannot be kept: ${messageOf(error)}`;
    return new TapeFault(reason, message, { cause });
  }

  /** @throws {TapeFault} for a record that cannot be gone on with. */
  assertNoFault(): void {
    if (this.fault !== undefined) throw this.fault;
  }

  /** What the steps of a record refer to cannot be had: the run cannot go on. @throws {TapeFault} */
  lost(why: unknown): void {
    if (this.opened.entries.length === 0) return;
    this.fail(new TapeFault("state", `The run "${this.runId}" cannot go on: ${messageOf(why)}`));
  }

  get #way(): "ended" | "open" | "replay" {
    if (this.isReplay) return "replay";
    return this.opened.isEnded ? "ended" : "open";
  }

  /** `ahead`: how many steps after those that were taken it is. */
  diverge({ what, ...shown }: Difference, ahead = 0): never {
    const step = stepsIn(this.prefix.entries.slice(0, this.prefix.at)) + ahead;
    // A message cuts it: it is hidden first.
    const hidden = this.main === undefined ? shown : this.main.redaction.value(shown);
    const divergence = { step, evaluationId: this.evaluationId, what, ...hidden };
    return this.fail(divergedFault(this.runId, divergence, this.#way, this.main?.history.earlier ?? 0));
  }

  /** Begins to append: what is not in the record happens now. */
  goLive(): void {
    this.assertNoFault();
    if (this.isLive) return;
    if (this.isReplay || this.opened.isEnded) {
      this.diverge({ what: "missing", path: "", recorded: undefined, now: "more than was recorded" });
    }
    this.isLive = true;
    const { core, opened, runId, attempt, source, given, costUsd, now: answeredAt } = this;
    // What no attempt goes on from may be later than all that stands.
    this.now = Math.max(this.now, opened.lastAt);
    if (costUsd !== undefined) this.appendAt(this.evaluationId, { kind: "drew", value: { costUsd, answeredAt } });
    core?.renumber(Math.max(opened.lastSeq + 1, core.nextSeq));
    if (this.differs || (this.adopts && given?.params !== undefined)) {
      const { foundOverride: override } = this;
      this.append(this.evaluationId, { kind: "adopted", ...(override === undefined ? {} : { override }) });
    }
    if (given !== undefined) this.append(this.evaluationId, given);
    // A fork begins; it goes on in its later attempts.
    if (source.mode === "fork" && attempt === 1) return;
    const unknown = opened.unknown.map(({ callId, name }) => ({ callId, name }));
    const keptSteps = stepsIn(opened.entries);
    const { unanswered } = opened;
    const more = unanswered === undefined ? {} : { unanswered };
    this.main?.emit({ type: "run.resumed", runId, attempt, keptSteps, unknown, ...more });
  }

  /** Goes on at once where the calls were the last step that stands: the time of the next turn is not that of the record. */
  goLiveUnlessEnded(): void {
    if (!this.isReplay && !this.opened.isEnded) this.goLive();
  }

  /** Whether an entry may differ from what there is now. */
  isAdopted({ index }: Pick<JournalEntry, "index">): boolean {
    return this.adopts || index < (this.adopted?.index ?? 0);
  }

  /** Takes a difference from an entry of the record. @throws {TapeFault} where the run is not gone on with like that. */
  differ(entry: Pick<JournalEntry, "index">, difference: Difference): void {
    if (!this.isAdopted(entry)) this.diverge(difference);
    // What an earlier adoption has let be is marked already.
    if (entry.index >= (this.adopted?.index ?? 0)) this.differs = true;
  }

  tick(): number {
    return (this.now = Math.max(this.now, this.clock.now()));
  }

  deliveryTo(run: Run): Delivery {
    const { isReplay: isEmitted, delivering } = this;
    return { run, isEmitted, delivering, timed: (at) => (this.now = at) };
  }

  #drawn<T>(type: "number" | "string", draw: () => T): T {
    if (!this.isLive) {
      const next = this.prefix.peek();
      if (next !== undefined && (next.kind !== "drew" || typeof next.value !== type)) {
        this.diverge({ what: "extra", path: "", recorded: next.kind, now: `a ${type} that is drawn` });
      }
      const entry = this.prefix.take("drew");
      if (entry !== undefined) return entry.value as T;
      this.goLive();
    }
    const value = draw();
    this.append(this.evaluationId, { kind: "drew", value });
    return value;
  }

  /** Whether a passed entry says that the evaluation does not begin again any more. */
  protected lasting = false;

  /** Takes an entry that the evaluation does not come to itself. */
  #pass(entry: JournalEntry): void {
    if (entry.kind === "lasting" && entry.evaluationId === this.evaluationId) this.lasting = true;
    if (this.main !== undefined) emitEntry(entry, this.deliveryTo(this.main));
  }
}
