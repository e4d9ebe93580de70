import {
  deadlineIn,
  definePrompt,
  DefinitionError,
  errorReason,
  isEvaluationFailure,
  systemClock,
  type Clock,
  type ErrorReason,
  type EvaluationFailure,
  type Message,
  type PromptResponse,
  type ProviderAdapter,
  type Session,
} from "@proviso/core";
import { parseJson } from "@proviso/core/provider";
import { createSession, openResources, restoreSession, type Logger } from "@proviso/runtime";
import { SqliteDatabase, sqliteResource } from "@proviso/node";
import { z } from "zod";
import { schema, tally, taskTools } from "./tasks.ts";

/** One turn of the chat. */
export const taskPrompt = definePrompt({
  ns: "examples",
  key: "task-agent",
  params: z.object({ text: z.string() }),
  slices: [tally],
  sections: [
    {
      key: "guide",
      text: "You keep the user's tasks. Use the tools for every change, and tell in a sentence what was done.",
      tools: [...taskTools],
    },
    { key: "said", text: "{{text}}", role: "user" },
  ],
});

export interface Answer {
  /** answered: by the model · refused, fallback, error: what stands in for it, by the document's error table. */
  readonly kind: "answered" | "refused" | "fallback" | "error";
  readonly text: string;
}

export interface Chat extends AsyncDisposable {
  /** How many messages are remembered. */
  readonly remembered: number;
  readonly session: Session;
  /** One turn; never rejects for what a model or a network does. */
  say(text: string, signal?: AbortSignal): Promise<Answer>;
}

/**
 * A conversation about the tasks in this file, which it goes on with.
 * @throws {SqliteError} for a file that is no database of this chat's; {DefinitionError} for a conversation in it that
 * cannot be read.
 */
export async function openChat(
  path: string,
  adapter: ProviderAdapter,
  { logger, clock = systemClock }: { readonly logger?: Pick<Logger, "error">; readonly clock?: Clock } = {},
): Promise<Chat> {
  const resources = await openResources([sqliteResource(path, { migrate: schema })]);
  try {
    const database = resources.get(SqliteDatabase);
    const loaded = load(database);
    const { session } = loaded;
    let { messages } = loaded;
    // Heard within the call's transaction: tasks and session are never apart, even when the process dies.
    let saved = session.get(tally);
    session.on("tool.invoked", ({ result }) => {
      const now = session.get(tally);
      if (result.success && now !== saved) saveSession(database, session);
      saved = now;
    });
    return {
      get remembered() {
        return messages.length;
      },
      session,
      async say(text, signal) {
        const options = { session, resources, messages, signal, deadline: deadlineIn(turnMs, clock) };
        const turn = await adapter.evaluate(taskPrompt.bind({ text }), options).then(answered, (error: unknown) => {
          return failed(error, logger);
        });
        messages = turn.messages;
        try {
          save(database, messages, session);
        } catch (error) {
          // It is remembered as long as the chat lasts, and the next turn saves it.
          logger?.error({ error: String(error) }, "chat.not_saved");
        }
        return turn.answer;
      },
      [Symbol.asyncDispose]: () => resources[Symbol.asyncDispose](),
    };
  } catch (error) {
    await resources[Symbol.asyncDispose]();
    throw error;
  }
}

/** All requests and tools of a turn together. */
const turnMs = 180_000;

interface Turn {
  readonly messages: readonly Message[];
  readonly answer: Answer;
}

function answered({ messages, output }: PromptResponse<string>): Turn {
  return { messages, answer: { kind: "answered", text: output } };
}

/** What was done stays, and the model will read what the user was told. */
function failed(error: unknown, logger: Pick<Logger, "error"> | undefined): Turn {
  if (!isEvaluationFailure(error)) throw error;
  const answer = answerTo(error);
  const reason = errorReason(error);
  logger?.error({ reason, retryAfterMs: retryAfterOf(error), error: error.message }, `chat.${answer.kind}`);
  return { messages: [...error.messages, { role: "assistant", text: answer.text, toolCalls: [] }], answer };
}

const refusals: ReadonlySet<ErrorReason | undefined> = new Set(["rate_limit_error", "quota_error"]);
const malformed: ReadonlySet<ErrorReason | undefined> = new Set([
  "invalid_response_error",
  "truncated_error",
  "schema_error",
]);

function answerTo(error: EvaluationFailure): Answer {
  const reason = errorReason(error);
  if (refusals.has(reason)) return { kind: "refused", text: "REFUSAL:RATE_LIMITED" };
  // Without a status it did answer, and said itself that its answer is none: a malformed call, for Gemini.
  const isNone = error.code === "provider" && error.reason === "unknown" && error.status === undefined;
  if (isNone || malformed.has(reason)) {
    return { kind: "error", text: "The model's answer could not be read. Please say it in other words." };
  }
  if (reason === "aborted_error") return { kind: "fallback", text: "Stopped. What was done before stays." };
  return { kind: "fallback", text: "The model gives no answer now. Your tasks are saved; please try again." };
}

function retryAfterOf(error: EvaluationFailure): number | undefined {
  return error.code === "throttled" ? error.retryAfterMs : undefined;
}

const call = z.looseObject({ id: z.string(), name: z.string(), arguments: z.string().optional() });
const savedMessages = z.array(
  z.discriminatedUnion("role", [
    z.object({ role: z.literal("user"), text: z.string() }),
    z.looseObject({ role: z.literal("assistant"), text: z.string(), toolCalls: z.array(call) }),
    z.looseObject({ role: z.literal("tool"), text: z.string(), callId: z.string(), name: z.string() }),
  ]),
);

function load(database: SqliteDatabase): { readonly session: Session; readonly messages: readonly Message[] } {
  const row = database.get<{ messages: string; session: string }>("SELECT messages, session FROM conversation");
  if (row === undefined) return { session: createSession({ slices: [tally] }), messages: [] };
  // As long as it may be: it was saved here.
  const maxLength = Number.POSITIVE_INFINITY;
  const [messages, session] = [parseJson(row.messages, { maxLength }), parseJson(row.session, { maxLength })];
  const checked = savedMessages.safeParse(messages.ok ? messages.value : undefined);
  if (!checked.success || !session.ok) throw new DefinitionError("The conversation in the file is damaged.");
  return { session: restoreSession(session.value, { slices: [tally] }), messages: checked.data as readonly Message[] };
}

function saveSession(database: SqliteDatabase, session: Session): void {
  const sql = `INSERT INTO conversation (id, messages, session) VALUES (1, '[]', ?)
    ON CONFLICT (id) DO UPDATE SET session = excluded.session`;
  database.run(sql, JSON.stringify(session));
}

function save(database: SqliteDatabase, messages: readonly Message[], session: Session): void {
  const sql = "INSERT OR REPLACE INTO conversation (id, messages, session) VALUES (1, ?, ?)";
  database.run(sql, JSON.stringify(messages), JSON.stringify(session));
}
