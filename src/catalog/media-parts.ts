import type { Modality, ProtocolId } from "../core/model.ts";

/** How a medium is put into a request of each format; a format that has no word for one does not take it. */
export const MEDIA_PARTS: Readonly<Record<ProtocolId, Readonly<Partial<Record<Modality, string>>>>> = {
  compat_chat_completions: {
    text: '{"type":"text","text":"…"}',
    image: '{"type":"image_url","image_url":{"url":"https://… or data:image/png;base64,…"}}',
    audio: '{"type":"audio_url","audio_url":{"url":"https://… or data:audio/wav;base64,…"}}',
    video: '{"type":"video_url","video_url":{"url":"https://… or data:video/mp4;base64,…"}}',
    pdf: '{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,…"}}',
  },
  compat_messages: {
    text: '{"type":"text","text":"…"}',
    image:
      '{"type":"image","source":{"type":"base64","media_type":"image/png","data":"…"}} or {"type":"image","source":{"type":"url","url":"https://…"}}',
    pdf: '{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"…"}}',
  },
  compat_generate_content: {
    text: '{"text":"…"}',
    image:
      '{"inlineData":{"mimeType":"image/png","data":"…"}} or {"fileData":{"mimeType":"image/png","fileUri":"https://…"}}',
    audio: '{"inlineData":{"mimeType":"audio/wav","data":"…"}}',
    video:
      '{"inlineData":{"mimeType":"video/mp4","data":"…"}} or {"fileData":{"mimeType":"video/mp4","fileUri":"https://…"}}',
    pdf: '{"inlineData":{"mimeType":"application/pdf","data":"…"}}',
  },
};
