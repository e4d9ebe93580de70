// 1. A mail is a run of the journal: what is known of it is in the record, and this process keeps nothing that a next one
//    would need.
// 2. A run is evaluated once at a time; whoever may go on with it calls `goOn`, which does nothing where it is under way.
import { randomUUID } from "node:crypto";
import {
  allow,
  deadlineIn,
  deny,
  isEvaluationFailure,
  RunError,
  type Pending,
  type PolicyDecision,
  type ProviderAdapter,
} from "@proviso/core";
import type { RunDescription } from "@proviso/journal";
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
  /** What is to be paid, while it is to be decided. */
  readonly cents?: number | undefined;
  readonly expiresAt?: string | undefined;
  readonly answer?: string | undefined;
  readonly paid?: z.infer<typeof Paid> | undefined;
}

/** What the person who decides has chosen. */
export type Decision =
  | { readonly pay: true; /** undefined: what was asked. */ readonly cents?: number | undefined }
  | { readonly pay: false; readonly reason: string };

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
  decide(token: string, decision: Decision): Promise<string>;
  /** Goes on with what another process has left, and with questions that nobody answered in time. */
  tidy(): Promise<void>;
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

  return {
    async take(text) {
      const id = `${prefix}${randomUUID()}`;
      goOn(id, text);
      // It is known to the next process from here on.
      while (underWay.has(id) && (await journal.describe(id)) === undefined) await new Promise(setImmediate);
      return id;
    },
    async again(id) {
      const mail = await described(id);
      if (mail === undefined) return false;
      if (mail.state === "waiting" || mail.state === "failed") goOn(id, mail.text);
      return true;
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
      const { id } = await journal.resolve(token, await decisionOn(journal, token, decision));
      const mail = await described(id);
      if (mail !== undefined) goOn(id, mail.text);
      return id;
    },
    async tidy() {
      const now = Date.now();
      for await (const { id, pending } of journal.list({ prefix, state: ["open", "suspended"] })) {
        const waits = pending !== undefined && (pending.expiresAt === undefined || pending.expiresAt.getTime() > now);
        const mail = waits ? undefined : await described(id);
        if (mail !== undefined) goOn(id, mail.text);
      }
    },
    async close() {
      closing.abort(new DOMException("The desk closes.", "AbortError"));
      await Promise.all(underWay.values());
    },
  };
}
