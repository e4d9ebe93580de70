import { AbortedError, JournalError, systemClock, type PromptResponse } from "@proviso/core";
import { noUsage, setAlarm } from "@proviso/core/internal";
import type { Journal } from "@proviso/journal";
import { wasDecidedSo } from "@proviso/journal/internal";
import { systemId, untilAborted } from "@proviso/runtime/internal";
import { runOfToken } from "@proviso/runtime/recording";
import { paramsOf, type RunJob, type RunKind } from "../kinds.ts";
import type { RunProgress } from "../progress.ts";
import { QueueError, type RunQueue } from "../queue.ts";
import { checkJob } from "./check-job.ts";
import { EndedAnswers } from "./ended-answers.ts";
import { makeDue, makeDueIfDecided } from "./due.ts";
import { jobIdOf, Shelf, type JobData, type RedisOptions, type Standing } from "./shelf.ts";

export type { RedisOptions } from "./shelf.ts";

const defaultPriority = 1_000;
/** A message that was lost is made good by asking. */
const askAgainMs = 2_000;
/** A worker puts a run that it has in hand, and that Redis has lost, back before that. */
const lostMs = 30_000;

/**
 * Opens a queue of runs in a Redis, over BullMQ. It holds ids, params and priorities; the journal holds the truth. It
 * connects when it is first used. Params are plain JSON there: give no secrets.
 * @throws {DefinitionError} for options that cannot be. When used: {QueueError} "unreachable".
 */
export function bullmqQueue(options: RedisOptions): RunQueue {
  return new BullmqRunQueue(new Shelf("bullmqQueue", options));
}

class BullmqRunQueue implements RunQueue {
  readonly #shelf: Shelf;
  readonly #answers: EndedAnswers;
  /** Ends those that follow the progress of runs. */
  readonly #closing = new AbortController();
  readonly #journal: Journal;

  constructor(shelf: Shelf) {
    this.#shelf = shelf;
    this.#answers = new EndedAnswers(shelf.journal);
    this.#journal = shelf.journal;
  }

  async add<Params, Output>(kind: RunKind<Params, Output>, params: Params, job: RunJob): Promise<"added" | "known"> {
    checkJob(job);
    const { id, priority = defaultPriority, delayMs = 0, deadline, budget } = job;
    this.#journal.run(id);
    const plain = paramsOf(kind, params);
    // A run that had ended by now is in its journal, unless that has lost it.
    const standing = await this.#shelf.standing(id);
    const known = await this.#journal.describe(id);
    if (known !== undefined) {
      const { state } = known;
      if (state === "executed" || state === "cancelled") {
        await makeDueIfDecided(this.#shelf, id);
        return "known";
      }
      // An evaluation that failed is an outcome, once its worker has reported it. A run that was given up goes on.
      const failed = state === "failed" ? await this.#shelf.standing(id) : undefined;
      if (failed?.state === "failed" && failed.isGivenUp !== true) return "known";
    } else if (standing?.message !== undefined) {
      // The run ended before its evaluation began.
      return "known";
    }
    const nonce = systemId();
    const isFirst = known === undefined && (await this.#shelf.claim(id, nonce, standing !== undefined));
    const data: JobData = {
      id,
      params: plain,
      priority,
      deadlineAt: deadline?.expiresAt.getTime(),
      budget,
      failures: 0,
      ...((known?.state === "open" || known?.state === "failed") && standing?.state === "failed"
        ? { again: true }
        : {}),
    };
    try {
      await this.#shelf.addJob(kind.prompt.name, data, delayMs);
    } catch (error) {
      if (isFirst) await this.#shelf.unclaim(id, nonce).catch(() => {});
      throw error;
    }
    await makeDueIfDecided(this.#shelf, id);
    return isFirst ? "added" : "known";
  }

  async result<Params, Output>(
    kind: RunKind<Params, Output>,
    id: string,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<PromptResponse<Output>> {
    signal?.throwIfAborted();
    const ending = this.#ended(id, signal);
    const standing = await (signal === undefined ? ending : untilAborted(signal, ending));
    if (standing.state === "cancelled") throw await this.#cancelled(kind.prompt.name, id, standing);
    const known = await this.#journal.describe(id);
    // A run that was given up stands as its last attempt left it.
    const isGivenUp = known?.state === "failed" && standing.isGivenUp === true;
    const isOpen = isGivenUp || known?.state === "open" || known?.state === "suspended";
    if (known === undefined || isOpen) {
      const when = isOpen ? "was given up, and goes on where it was when it is added again" : "failed before it began";
      const why =
        standing.message === undefined
          ? `has ended, and the journal does not have it any more`
          : `${when}: ${standing.message.replace(/\.$/u, "")}`;
      throw new QueueError(`The run "${id}" ${why}.`, { reason: "failed", run: id });
    }
    const { session: _, ...options } = kind.options?.({ id }) ?? {};
    const given = { ...options, ...(signal && { signal }) };
    const ended = { id, isExecuted: known.state === "executed", params: known.params };
    return this.#answers.of(ended, kind.prompt, (prompt, run) => kind.adapter.evaluate(prompt, { ...given, run }));
  }

  async *progress({ signal }: { readonly signal?: AbortSignal | undefined } = {}): AsyncGenerator<RunProgress, void> {
    // The newest of each run alone: a slow reader misses steps, and no run.
    const unread = new Map<string, RunProgress>();
    let wake = (): void => {};
    const listening = this.#shelf.receive<RunProgress>("progress", (progress) => {
      unread.set(progress.id, progress);
      wake();
    });
    const closing = this.#closing.signal;
    const isOver = (): boolean => signal?.aborted === true || closing.aborted;
    const end = (): void => wake();
    signal?.addEventListener("abort", end);
    closing.addEventListener("abort", end);
    try {
      await orAborted(listening, signal);
      while (!isOver()) {
        for (const [id, progress] of unread) {
          unread.delete(id);
          yield progress;
        }
        if (unread.size === 0 && !isOver()) await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      void listening.then(
        (stop) => stop(),
        () => {},
      );
      signal?.removeEventListener("abort", end);
      closing.removeEventListener("abort", end);
    }
  }

  async resolve(...[token, decision]: Parameters<RunQueue["resolve"]>): Promise<void> {
    const queue = await this.#shelf.jobs();
    const decided = await this.#journal.resolve(token, decision).catch(async (error: unknown) => {
      const id = runOfToken(token);
      if (id !== undefined) await makeDueIfDecided(this.#shelf, id);
      // A caller that did not learn that it was kept decides again, and the run may have gone on since.
      if (!(await wasDecidedSo(this.#journal, token, decision).catch(() => false))) throw error;
      return undefined;
    });
    const id = decided?.id ?? runOfToken(token) ?? "";
    const job = await queue.getJob(jobIdOf(id));
    if (job !== undefined) {
      // A worker that is just putting it aside looks at the journal afterwards.
      if (decided !== undefined) await makeDue(job);
      return;
    }
    if (decided === undefined && (await this.#journal.describe(id))?.state !== "open") return;
    throw new QueueError(`The decision on the run "${id}" is kept, but the queue has lost the run: add it again.`, {
      reason: "unknown",
      run: id,
    });
  }

  async cancel(id: string, reason?: string): Promise<boolean> {
    this.#journal.run(id);
    const queue = await this.#shelf.jobs();
    const jobId = jobIdOf(id);
    for (;;) {
      const isCancelled = await this.#cancelInJournal(id, reason);
      if (isCancelled === false && !(await this.#isHalfCancelled(id))) return false;
      if (isCancelled !== undefined) {
        await this.#shelf.send("cancel", { id, reason });
        // A worker that has the run ends its job itself.
        await queue.remove(jobId);
        await this.#shelf.setStanding(id, { state: "cancelled", message: reason });
        return true;
      }
      const job = await queue.getJob(jobId);
      if (job === undefined && (await this.#journal.describe(id)) === undefined) return false;
      if (job !== undefined && (await queue.remove(jobId)) > 0) {
        await this.#shelf.setStanding(id, { state: "cancelled", message: reason ?? "before it began." });
        return true;
      }
      // A worker has it, and has written nothing yet.
      await systemClock.sleep(50);
    }
  }

  async counts(): ReturnType<RunQueue["counts"]> {
    const queue = await this.#shelf.jobs();
    const jobs = await queue.getJobCounts("active", "waiting", "prioritized", "delayed");
    const standing = await this.#shelf.counts();
    const { active = 0, waiting = 0, prioritized = 0, delayed = 0 } = jobs;
    // A run that waits for a decision is a delayed job.
    const waitingNow = Math.max(0, waiting + prioritized + delayed - standing.suspended);
    return { waiting: waitingNow, running: active, ...standing };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#shelf[Symbol.asyncDispose]();
  }

  /** undefined: the journal has no such run; false: it had ended. */
  async #cancelInJournal(id: string, reason: string | undefined): Promise<boolean | undefined> {
    try {
      return await this.#journal.cancel(id, reason);
    } catch (error) {
      if (error instanceof JournalError && error.reason === "not_found") return undefined;
      throw error;
    }
  }

  /** Whether the journal alone knows that the run was cancelled. */
  async #isHalfCancelled(id: string): Promise<boolean> {
    const standing = await this.#shelf.standing(id);
    if (standing !== undefined && standing.state !== "suspended") return false;
    return (await this.#journal.describe(id))?.state === "cancelled";
  }

  /** Waits until the run has ended. @throws {QueueError} "unknown". */
  async #ended(id: string, signal: AbortSignal | undefined): Promise<Standing> {
    let wake = (): void => {};
    let missingSince: number | undefined;
    const stopListening = await this.#shelf.receive<{ readonly id: string }>("ended", (ended) => {
      if (ended.id === id) wake();
    });
    const abort = (): void => wake();
    signal?.addEventListener("abort", abort);
    try {
      for (;;) {
        signal?.throwIfAborted();
        const ended = new Promise<void>((resolve) => (wake = resolve));
        const standing = await this.#standing(id);
        if (standing !== "goes on" && standing !== "is missing") return standing;
        const now = systemClock.now();
        missingSince = standing === "is missing" ? (missingSince ?? now) : undefined;
        if (now - (missingSince ?? now) >= lostMs) throw lost(id);
        const stopTimer = setAlarm(systemClock, askAgainMs, () => wake());
        await ended;
        stopTimer();
      }
    } finally {
      stopListening();
      signal?.removeEventListener("abort", abort);
    }
  }

  /** How the run ended. "is missing": it has not, and the queue does not have it. */
  async #standing(id: string): Promise<Standing | "goes on" | "is missing"> {
    const standing = await this.#shelf.standing(id);
    // What was given up may have been added again.
    const isOver = standing !== undefined && standing.state !== "suspended";
    if (isOver && standing.state !== "failed") return standing;
    const job = await (await this.#shelf.jobs()).getJob(jobIdOf(id));
    if (isOver && job?.data.again !== true) return standing;
    if (job !== undefined) return "goes on";
    // The queue may have lost what the journal still has; and a worker may just have ended it.
    const known = await this.#journal.describe(id);
    if (known === undefined) {
      const ended = await this.#shelf.standing(id);
      if (ended !== undefined) return ended.state === "suspended" ? "is missing" : ended;
      throw new QueueError(`The queue has no run "${id}": add it.`, { reason: "unknown", run: id });
    }
    const { state } = known;
    return state === "executed" || state === "failed" || state === "cancelled" ? { state } : "is missing";
  }

  async #cancelled(promptName: string, id: string, { message }: Standing): Promise<AbortedError> {
    const usage = (await this.#journal.describe(id))?.usage ?? noUsage;
    return new AbortedError(`The run "${id}" was cancelled${message === undefined ? "" : `: ${message}`}`, {
      phase: "request",
      promptName,
      usage,
      messages: [],
      toolResults: [],
    });
  }
}

function lost(id: string): QueueError {
  const message = `The queue has lost the run "${id}", and no worker has it: add it again, and it goes on where it was.`;
  return new QueueError(message, { reason: "unknown", run: id });
}

/** Waits for it, or until the signal fires: Redis may be away. */
async function orAborted(work: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  await (signal === undefined ? work : untilAborted(signal, work)).catch((error: unknown) => {
    if (signal?.aborted !== true) throw error;
  });
}
