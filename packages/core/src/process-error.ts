import { PromptEvaluationError, type EvaluationDetails } from "./evaluation-errors.ts";

/** A command-line model or agent ended badly. */
export class ProcessError extends PromptEvaluationError {
  readonly code = "process";
  override readonly name = "ProcessError";
  /** The exit code; null where a signal ended the process. */
  readonly exitCode: number | null;
  /** The signal that ended the process; null where it ended by itself. */
  readonly signal: string | null;
  /** The end of what the process wrote to standard error. */
  readonly stderr: string;
  constructor(
    message: string,
    details: EvaluationDetails & {
      readonly exitCode: number | null;
      readonly signal: string | null;
      readonly stderr: string;
    },
  ) {
    super(message, details);
    this.exitCode = details.exitCode;
    this.signal = details.signal;
    this.stderr = details.stderr;
  }
}
