import {
  DefinitionError,
  isEvaluationFailure,
  RunError,
  type EvaluateOptions,
  type JournalRun,
  type ModelProvider,
  type Prompt,
  type PromptResponse,
  type PromptTemplate,
  type ProviderAdapter,
  type Session,
  type SessionEvent,
} from "@proviso/core";
import { messageOf } from "@proviso/core/internal";
import { agentAdapter, createSession, modelAdapter, type AgentDriver } from "@proviso/runtime";
import { internalsOf, runInnerLoop, type AdapterInternals } from "@proviso/runtime/internal";
import { recordedBeginning } from "@proviso/runtime/recording";

/** What a recorded run came to, through the code of today. */
export interface Replayed<Output> {
  /** undefined: the recorded evaluation failed. */
  readonly response: PromptResponse<Output> | undefined;
  /** What the recorded evaluation rejected with. */
  readonly failure: Error | undefined;
  /** The events of the session, in order. */
  readonly events: readonly SessionEvent[];
  /** The session as it is in the end. */
  readonly session: Session;
}

/**
 * Replays a recorded run, for a test: no adapter, key, network or clock is needed. A template is bound with the recorded
 * params.
 * @throws {DefinitionError} for anything but what `journal.replay` returns. {PromptRenderError} for a prompt that cannot be rendered any more. {OptionError} for options that cannot be. {RunError} "diverged" at the first difference; "journal", whose cause is a JournalError "not_found" or "damaged".
 */
export async function replay<Output>(
  prompt: Prompt<Output> | PromptTemplate<never, Output>,
  run: JournalRun,
  options: Pick<EvaluateOptions, "resources" | "policies" | "overrides" | "context"> = {},
): Promise<Replayed<Output>> {
  const begun = await recordedBeginning(run);
  const bound = "bind" in prompt ? boundToRecorded(prompt as PromptTemplate<unknown, Output>, begun.params) : prompt;
  const events: SessionEvent[] = [];
  const session = createSession({ id: begun.session.id });
  session.on("*", (event) => void events.push(event));
  const adapter = recordedAdapter(begun);
  try {
    const response = await adapter.evaluate(bound, { ...options, run, session });
    return { response, failure: undefined, events, session };
  } catch (failure) {
    if (!isEvaluationFailure(failure)) throw failure;
    // Nothing of the record was replayed: a prompt that cannot be rendered any more, or options that cannot be.
    if (events.length === 0) throw failure;
    // A run that waited for a decision has ended so.
    if (failure instanceof RunError && failure.reason !== "suspended") throw failure;
    return { response: undefined, failure, events, session };
  }
}

/** @throws {DefinitionError} for params that are not those of the schema's input as they were recorded. */
function boundToRecorded<Output>(template: PromptTemplate<unknown, Output>, params: unknown): Prompt<Output> {
  try {
    return template.bind(params);
  } catch (cause) {
    const why = `${messageOf(cause)} They are the recorded ones: give replay a prompt that is bound already.`;
    throw new DefinitionError(why, { cause });
  }
}

type Beginning = Awaited<ReturnType<typeof recordedBeginning>>;

/** What was recorded, under its name: a model, an agent, or a chain that went on from one to the other. */
function recordedAdapter(begun: Beginning): ProviderAdapter {
  const [provider, agent] = [recordedModel(begun), agentAdapter(recordedAgent(begun))];
  const { agentTurns } = begun;
  if (agentTurns === undefined) return begun.isAgent ? agent : modelAdapter(provider);
  const { asked, leads } = internalsOf(agent) as AdapterInternals & { readonly asked: object };
  return leads({
    ...asked,
    provider,
    providerFor: () => provider,
    environment: {},
    beginAgain: undefined,
    drive: (run) => (agentTurns.has(run.turn + 1) && asked.drive ? asked.drive(run) : runInnerLoop(provider, run)),
  });
}

/** The model that was recorded: it is never asked. */
function recordedModel({ adapter: name, model, nativeOutput }: Beginning): ModelProvider {
  return { name, model, capabilities: { tools: true, nativeOutput }, generate: notAsked };
}

/** The agent that was recorded: it is never asked. */
function recordedAgent({ adapter: name, model }: Beginning): AgentDriver {
  return { name, model, drive: notAsked };
}

function notAsked(): never {
  throw new DefinitionError("A replay asks neither a model nor an agent.");
}
