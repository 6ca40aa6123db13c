import type { MediaRequest } from "../../../core/media/media.ts";
import type { MediaAdapter, MediaCall, MediaRefusal, MediaStep } from "../../../providers/media.ts";

/** An adapter with the request that it is to do. */
export interface BoundAdapter {
  lacks?(upstreamId: string): MediaRefusal | undefined;
  create(call: MediaCall): Promise<MediaStep>;
  poll?(job: string, call: MediaCall): Promise<MediaStep>;
  cancel?(job: string, call: MediaCall): Promise<boolean>;
  find?(call: MediaCall): Promise<string | undefined>;
}

/** Ties an adapter to a request. */
export function bindAdapter<R extends MediaRequest>(adapter: MediaAdapter<R>, request: R): BoundAdapter {
  const { lacks, poll, cancel, find } = adapter;
  return {
    ...(lacks === undefined ? {} : { lacks: (upstreamId) => lacks.call(adapter, request, upstreamId) }),
    create: (call) => adapter.create(request, call),
    ...(poll === undefined ? {} : { poll: (job, call) => poll.call(adapter, job, request, call) }),
    ...(cancel === undefined ? {} : { cancel: (job, call) => cancel.call(adapter, job, call) }),
    ...(find === undefined ? {} : { find: (call) => find.call(adapter, call) }),
  };
}
