import type { AssistantMessage, FileLike, ModelResponse, PlacedFile, RenderedPrompt, ToolResult } from "@proviso/core";
import { messageOf } from "@proviso/core/internal";
import type { Run } from "../run.ts";
import { isFailure, providerFailure, type Failure } from "../failures.ts";
import { internalsOf } from "../nested/adapter-internals.ts";
import type { RunFiles } from "./contract.ts";

/** The files of an evaluation; their code is loaded where there are any. */
async function filesOf(run: Run): Promise<RunFiles> {
  if (run.files === undefined) {
    const { openRunFiles } = await import("./run-files.ts");
    run.files ??= openRunFiles(run);
    const support = internalsOf(run.adapter)?.facts.files;
    if (support?.tokensOf !== undefined) run.history.bound = (file) => support.tokensOf?.(file);
  }
  return run.files;
}

/** A tool's result with its files stored. @throws where they cannot be. */
export async function resultWithFiles(run: Run, result: ToolResult, given: readonly FileLike[]): Promise<ToolResult> {
  if (!result.success) return result;
  return { ...result, files: Object.freeze(await (await filesOf(run)).stored(given)) };
}

/** Reads and stores the files of a run that begins. @throws {BlobError} for bytes that cannot be had or believed. */
export async function openFiles(run: Run): Promise<void> {
  const files = await filesOf(run);
  run.rendered = await files.rendered(run.rendered);
  run.history.rerender(run.rendered);
  await files.checkHistory();
}

/** Whether the prompt or its history holds files. */
export function holdsFiles({ rendered, history }: Run): boolean {
  if (rendered.files !== undefined && rendered.files.length > 0) return true;
  return history.earlier > 0 && history.messages().some(({ files }) => files !== undefined);
}

/** The answer's message with what the model made, stored; why it could not be, or the limit that ended the wait. */
export async function withGenerated(run: Run, response: ModelResponse): Promise<AssistantMessage | Failure> {
  const { message, generated = [] } = response;
  const storing = filesOf(run).then((files) => files.generated(generated));
  try {
    const files = await run.limits.race(storing, "response");
    return isFailure(files) ? files : { ...message, files };
  } catch (cause) {
    return providerFailure("invalid_response", `What the model made could not be stored: ${messageOf(cause)}`, {
      cause,
    });
  }
}

/** Opens the files of a result that comes from a record, so that each request from here on has their bytes. */
export async function openResultFiles(run: Run, result: ToolResult): Promise<void> {
  if (result.success && result.files !== undefined) await filesOf(run);
}

/** What the model made in an earlier attempt of the run. */
export async function takeUpFiles(run: Run, files: readonly PlacedFile[]): Promise<void> {
  (await filesOf(run)).takeUp(files);
}

/** A prompt that was rendered again, its files read and stored where it has any. */
export async function renderedWithFiles(run: Run, rendered: RenderedPrompt): Promise<RenderedPrompt> {
  return rendered.files === undefined ? rendered : (await filesOf(run)).rendered(rendered);
}
