import type {
  FileLike,
  FileRef,
  GeneratedFile,
  Message,
  ModelRequest,
  PlacedFile,
  RenderedPrompt,
} from "@proviso/core";
import type { ModelCapabilities } from "@proviso/core/provider";
import type { Failure } from "../failures.ts";

/** What takes the files of a request: a model, or an agent. */
export interface TakesFiles {
  readonly name: string;
  readonly capabilities?: Pick<ModelCapabilities, "files"> | undefined;
  /** The models of a chain, one of which gets the request; undefined: it is one model. */
  readonly takers?: readonly TakesFiles[] | undefined;
}

type RenderedParams = Readonly<Record<string, unknown>>;

/** The files of one evaluation; made where there are any. */
export interface RunFiles {
  /** What the model has made so far. */
  readonly made: readonly FileRef[];
  /** Reads and stores the prompt's files. @throws {BlobError} for bytes that cannot be had or believed. */
  rendered(rendered: RenderedPrompt): Promise<RenderedPrompt>;
  /** The params as events name them: a file that was read as its reference. */
  params(params: RenderedParams): RenderedParams;
  /** @throws {BlobError} "missing" where bytes of earlier messages are nowhere. */
  checkHistory(): Promise<void>;
  /** Reads and stores the files of a tool. @throws {BlobError} for bytes that cannot be had or believed. */
  stored(files: readonly FileLike[]): Promise<readonly FileRef[]>;
  /** Stores what the model made. @throws {BlobError} for what cannot be stored. */
  generated(files: readonly GeneratedFile[]): Promise<readonly PlacedFile[]>;
  /** Takes up what the model made and the record of the run has. */
  takeUp(files: readonly PlacedFile[]): void;
  /** Forgets what the model has made but for the first ones: an attempt is undone. */
  keepMade(count: number): void;
  /** Why the messages cannot be sent to it; undefined: they can. Their bytes have been loaded. */
  refuses(messages: readonly Message[], by: TakesFiles): Failure | undefined;
  /**
   * The request as this model takes it, with the bytes of its files; why it cannot be sent. For a chain the messages stay
   * as they are, since each of its models takes files in its own way.
   */
  prepare<R extends Pick<ModelRequest, "messages">>(
    request: R,
    by: TakesFiles,
  ): Promise<(R & Required<Pick<ModelRequest, "bytesOf">>) | Failure>;
  /** A payload without long base64 and without bytes. */
  withoutBytes(payload: unknown): unknown;
  /** A failure whose cause and payload are without bytes. */
  failure(why: Failure): Failure;
  /** The messages of a request as they were before it was prepared. */
  messagesBefore(request: Pick<ModelRequest, "messages">): readonly Message[];
  /** How many messages of the conversation a request holds: some that were prepared have more. */
  messagesIn(request: ModelRequest): number;
}
