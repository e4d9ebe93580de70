// 1. A mail is a run of the journal: what is known of it is in the record, and this process keeps nothing that a next one
//    would need.
// 2. A run is evaluated once at a time; whoever may go on with it calls `goOn`, which does nothing where it is under way.
import { randomUUID } from "node:crypto";
import {
  deadlineIn,
  RunError,
  systemClock,
  type Pending,
  type PolicyDecision,
  type ProviderAdapter,
} from "@proviso/core";
import type { RunDescription, RunFilter, RunSummary } from "@proviso/journal";
import type { SqliteJournal } from "@proviso/journal/node";
import { sqliteResource } from "@proviso/node";
import { z } from "zod";
import { deskPrompt } from "./prompt.ts";
import { Paid, refund, schema } from "./shop.ts";

const prefix = "mail/";
/** All requests and tools of one attempt together. */
const attemptMs = 120_000;
const mostShown = 50;

/** What the desk needs. */
export interface DeskParts {
  readonly adapter: ProviderAdapter;
  readonly journal: SqliteJournal;
  /** Milliseconds in which a refund is decided; later it counts as refused. */
  readonly decideWithinMs: number;
  /** Sends a question to the person who decides. The token is all that is needed to decide: it is kept nowhere else. */
  readonly ask: (question: Question) => void;
  /** Receives what went wrong; a page reads no more than a code. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** A question to the person who decides. */
export interface Question extends Pick<Pending, "question" | "token"> {
  readonly mailId: string;
}

/** A mail as the pages show it. */
export interface MailView {
  readonly id: string;
  readonly text: string;
  readonly receivedAt: string;
  readonly state: "answering" | "waiting" | "answered" | "failed";
  /** What is to be decided, while it is. */
  readonly question?: string | undefined;
  readonly expiresAt?: string | undefined;
  readonly answer?: string | undefined;
  readonly paid?: z.infer<typeof Paid> | undefined;
}

/** Answers mails, and asks where it has to. */
export interface Desk {
  /** Begins to answer a mail, and returns its id. */
  take(text: string): Promise<string>;
  /** Goes on with a mail, or asks again about one that waits. false: there is no such mail. */
  again(id: string): Promise<boolean>;
  /** The newest mails. */
  mails(): Promise<readonly MailView[]>;
  mail(id: string): Promise<MailView | undefined>;
  /** Decides, and goes on with the mail. @throws {JournalError} "token" for a token that cannot decide (any more). */
  decide(token: string, decision: PolicyDecision): Promise<string>;
  /** Goes on with what another process has left. */
  resume(): Promise<void>;
  /** Goes on with mails about which nobody decided in time. */
  expire(): Promise<void>;
  /** Aborts what is under way; the next process goes on with it. */
  close(): Promise<void>;
}

export function openDesk({ adapter, journal, decideWithinMs, ask, onError }: DeskParts): Desk {
  const prompt = deskPrompt(decideWithinMs);
  const underWay = new Map<string, Promise<void>>();
  const closing = new AbortController();

  async function evaluate(id: string, text: string): Promise<void> {
    try {
      await adapter.evaluate(prompt.bind({ mail: text }), {
        run: journal.run(id),
        resources: [sqliteResource(journal, { migrate: schema })],
        deadline: deadlineIn(attemptMs),
        budget: { maxTotalTokens: 50_000 },
        signal: closing.signal,
      });
    } catch (error) {
      if (!(error instanceof RunError) || error.pending === undefined) throw error;
      ask({ mailId: id, question: error.pending.question, token: error.pending.token });
    }
  }

  function goOn(id: string, text: string): void {
    if (underWay.has(id) || closing.signal.aborted) return;
    const ended = evaluate(id, text)
      .catch((error: unknown) => void (closing.signal.aborted || onError?.(error)))
      .finally(() => underWay.delete(id));
    underWay.set(id, ended);
  }

  async function described(id: string): Promise<MailView | undefined> {
    const run = id.startsWith(prefix) ? await journal.describe(id) : undefined;
    return run === undefined ? undefined : mailView(run, underWay.has(id));
  }

  async function goOnWith(state: RunFilter["state"], wanted: (run: RunSummary) => boolean): Promise<void> {
    for await (const run of journal.list({ prefix, state })) {
      const mail = wanted(run) ? await described(run.id) : undefined;
      if (mail !== undefined) goOn(run.id, mail.text);
    }
  }

  return {
    async take(text) {
      const id = `${prefix}${randomUUID()}`;
      goOn(id, text);
      // From the moment that the run is in the journal, a few milliseconds later, the mail cannot be lost.
      while ((await journal.describe(id)) === undefined) {
        if (!underWay.has(id)) throw new Error("The mail could not be taken.");
        await systemClock.sleep(5);
      }
      return id;
    },
    async again(id) {
      const mail = await described(id);
      if (mail?.state === "waiting" || mail?.state === "failed") goOn(id, mail.text);
      return mail !== undefined;
    },
    async mails() {
      const found: MailView[] = [];
      for await (const { id } of journal.list({ prefix })) {
        const mail = await described(id);
        if (mail !== undefined) found.push(mail);
        if (found.length === mostShown) break;
      }
      return found.toSorted((a, b) => b.receivedAt.localeCompare(a.receivedAt));
    },
    mail: described,
    async decide(token, decision) {
      const { id } = await journal.resolve(token, decision);
      const mail = await described(id);
      if (mail !== undefined) goOn(id, mail.text);
      return id;
    },
    // A failed one: a limit has ended it, such as the end of its process. One that cannot be answered fails again without a request.
    resume: () => goOnWith(["open", "failed"], () => true),
    expire: () =>
      goOnWith("suspended", ({ pending }) => (pending?.expiresAt?.getTime() ?? Infinity) <= systemClock.now()),
    async close() {
      closing.abort(new DOMException("The desk closes.", "AbortError"));
      await Promise.all(underWay.values());
    },
  };
}

function mailView(run: RunDescription, isUnderWay: boolean): MailView {
  const { id, startedAt, pending, timeline } = run;
  const { mail } = z.object({ mail: z.string() }).parse(run.params);
  const state = run.state === "suspended" && !isUnderWay ? "waiting" : isUnderWay ? "answering" : states[run.state];
  const last = timeline.at(-1);
  const refunds = timeline.filter((step) => step.kind === "call" && step.name === refund.name);
  const paid = refunds.flatMap((step) => {
    const value = step.kind === "call" && step.result?.success === true ? step.result.value : undefined;
    const { success, data } = Paid.safeParse(value);
    return success ? [data] : [];
  });
  return {
    id,
    text: mail,
    receivedAt: startedAt.toISOString(),
    state,
    ...(state === "waiting" ? { question: pending?.question, expiresAt: pending?.expiresAt?.toISOString() } : {}),
    ...(state === "answered" && last?.kind === "answer" ? { answer: last.text } : {}),
    paid: paid[0],
  };
}

const states = {
  open: "answering",
  suspended: "waiting",
  executed: "answered",
  failed: "failed",
  cancelled: "failed",
} as const;
