export interface EventBase<Type extends string> {
  readonly type: Type;
  readonly sessionId: string;
  readonly evaluationId: string;
  /** The call that a nested evaluation runs in. */
  readonly parent?: { readonly evaluationId: string; readonly callId: string };
  /** Gap-free within the session, from 0. */
  readonly seq: number;
  /** Epoch milliseconds, from the run's clock. */
  readonly at: number;
}
