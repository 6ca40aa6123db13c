/** Receives the bytes of a body. */
export interface BodySink {
  write(bytes: Uint8Array): void;
  /** Sends what was written; a promise where the client has to take some of it first. */
  flush(): Promise<unknown> | undefined;
}

/** A body that is written as it comes. */
export interface WrittenBody {
  /** Writes it from beginning to end. Rejects when the client has gone, or when it is not to look whole. */
  pipe(sink: BodySink): Promise<void>;
  /** The client has gone. */
  cancel(): void;
}

/** The controller of the runtime's direct streams. */
interface DirectController {
  write(bytes: Uint8Array): unknown;
  flush(wait: true): unknown;
  close(error?: Error): void;
}

/**
 * A response body that writes itself. The runtime's direct stream costs a third less per write than a pulled one;
 * waiting for its flush is the backpressure.
 */
export function streamBody(body: WrittenBody): ReadableStream<Uint8Array> {
  const source = new DirectSource(body);
  return new ReadableStream(source as unknown as ConstructorParameters<typeof ReadableStream<Uint8Array>>[0]);
}

class DirectSource {
  readonly type = "direct";
  readonly #body: WrittenBody;

  constructor(body: WrittenBody) {
    this.#body = body;
  }

  async pull(controller: DirectController): Promise<void> {
    try {
      await this.#body.pipe(new ControllerSink(controller));
      controller.close();
    } catch (error) {
      // The client has gone, or takes nothing: its connection ends without the mark of a whole body.
      this.#body.cancel();
      controller.close(error instanceof Error ? error : new Error("The client has gone."));
    }
  }

  cancel(): void {
    this.#body.cancel();
  }
}

class ControllerSink implements BodySink {
  readonly #controller: DirectController;

  constructor(controller: DirectController) {
    this.#controller = controller;
  }

  write(bytes: Uint8Array): void {
    this.#controller.write(bytes);
  }

  flush(): Promise<unknown> | undefined {
    const room = this.#controller.flush(true);
    // The runtime gives a promise every time, and one that is fulfilled where nothing has to wait (measured, 1.4.5).
    return room instanceof Promise && Bun.peek.status(room) !== "fulfilled" ? room : undefined;
  }
}
