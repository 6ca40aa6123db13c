import type { PixelSize } from "../../../core/media.ts";
import { createBitWriter, type BitWriter } from "./bit-writer.ts";

/**
 * Videos without loss: H.264, Constrained Baseline. A block of 16 by 16 pixels goes as one of three things: as it was in
 * the frame before, as the continuation of the row above or the column to the left, or as its plain samples. That is
 * all that still, flat images need, it is the same on every machine, and a frame in which little moves costs little.
 * Source: ITU-T H.264.
 */
export interface VideoEncoder {
  /** The decoder's configuration, as MP4 has it: an `AVCDecoderConfigurationRecord`. */
  readonly config: Uint8Array;
  /** What the next frame shows. */
  readonly planes: Planes;
  /** The next frame, of the planes as they now are, as MP4 has it; nothing before is needed to show a `key` frame. */
  encode(key: boolean): Uint8Array;
}

/** Luma, and chroma of half its width and height, padded to whole blocks. */
export interface Planes {
  readonly y: Uint8Array;
  readonly cb: Uint8Array;
  readonly cr: Uint8Array;
  /** Samples in a row of luma. */
  readonly stride: number;
}

const BLOCK = 16;

const NAL = { other: 0x41, key: 0x65, sequence: 0x67, picture: 0x68 } as const;

/** `profile_idc` 66 with the flags that make it Constrained Baseline. */
const PROFILE = [66, 0xc0] as const;

/** Video of `size`, whose sides are even, at `fps` frames a second. */
export function createVideoEncoder(size: PixelSize, fps: number): VideoEncoder {
  const columns = Math.ceil(size.width / BLOCK);
  const rows = Math.ceil(size.height / BLOCK);
  const planes = newPlanes(columns, rows);
  const before = newPlanes(columns, rows);
  const [wideNow, wideBefore] = [widened(planes), widened(before)];
  const plain = new Uint8Array(columns * rows);
  const sequence = nal(NAL.sequence, sequenceParameters(size, fps));
  const picture = nal(NAL.picture, pictureParameters());
  const writer = createBitWriter();
  let frameNumber = 0;
  let keyNumber = 0;

  return {
    planes,
    config: decoderConfig(size, sequence, picture),
    encode(isKey) {
      frameNumber = isKey ? 0 : (frameNumber + 1) % 256;
      if (isKey) keyNumber = 1 - keyNumber;
      writeSliceHeader(writer, isKey, isKey ? keyNumber : frameNumber);
      plain.fill(0);
      let skipped = 0;
      for (let block = 0; block < columns * rows; block += 1) {
        const column = block % columns;
        const row = Math.floor(block / columns);
        if (!isKey && isSame(wideNow, wideBefore, column, row)) {
          skipped += 1;
          continue;
        }
        const place: Place = { planes, column, row };
        if (!isKey) writer.ue(skipped);
        skipped = 0;
        const left = column === 0 ? undefined : plain[block - 1] === 1;
        const above = row === 0 ? undefined : plain[block - columns] === 1;
        if (writeBlock(writer, place, { isKey, left, above }) === "plain") plain[block] = 1;
      }
      if (skipped > 0) writer.ue(skipped);
      before.y.set(planes.y);
      before.cb.set(planes.cb);
      before.cr.set(planes.cr);
      const unit = nal(isKey ? NAL.key : NAL.other, writer.take());
      const sample = new Uint8Array(4 + unit.length);
      new DataView(sample.buffer).setUint32(0, unit.length);
      sample.set(unit, 4);
      return sample;
    },
  };
}

function newPlanes(columns: number, rows: number): Planes {
  const luma = columns * rows * BLOCK * BLOCK;
  return {
    y: new Uint8Array(luma).fill(16),
    cb: new Uint8Array(luma / 4).fill(128),
    cr: new Uint8Array(luma / 4).fill(128),
    stride: columns * BLOCK,
  };
}

interface Place {
  readonly planes: Planes;
  readonly column: number;
  readonly row: number;
}

/** One plane's part of a block: `side` rows of it, the first at `from`. */
interface Square {
  readonly samples: Uint8Array;
  readonly stride: number;
  readonly from: number;
  readonly side: number;
}

function squaresOf({ planes: { y, cb, cr, stride }, column, row }: Place): readonly Square[] {
  const half = BLOCK / 2;
  const chroma = { stride: stride / 2, from: (row * half * stride) / 2 + column * half, side: half };
  return [
    { samples: y, stride, from: row * BLOCK * stride + column * BLOCK, side: BLOCK },
    { samples: cb, ...chroma },
    { samples: cr, ...chroma },
  ];
}

/** Planes, four samples at a time: most of a video's work is to see what has not changed. */
interface WidePlanes {
  readonly y: Uint32Array;
  readonly cb: Uint32Array;
  readonly cr: Uint32Array;
  /** Of luma. */
  readonly stride: number;
}

function widened({ y, cb, cr, stride }: Planes): WidePlanes {
  const wide = (plane: Uint8Array): Uint32Array => new Uint32Array(plane.buffer);
  return { y: wide(y), cb: wide(cb), cr: wide(cr), stride: stride / 4 };
}

function isSame(now: WidePlanes, before: WidePlanes, column: number, row: number): boolean {
  const { stride } = now;
  for (let y = row * BLOCK; y < (row + 1) * BLOCK; y += 1) {
    const at = y * stride + column * 4;
    for (let i = at; i < at + 4; i += 1) if (now.y[i] !== before.y[i]) return false;
  }
  for (let y = (row * BLOCK) / 2; y < ((row + 1) * BLOCK) / 2; y += 1) {
    const at = (y * stride) / 2 + column * 2;
    for (let i = at; i < at + 2; i += 1)
      if (now.cb[i] !== before.cb[i] || now.cr[i] !== before.cr[i]) return false;
  }
  return true;
}

/** Whether each sample is the one that lies `back` before it. */
function continues({ samples, stride, from, side }: Square, back: number): boolean {
  for (let y = 0; y < side; y += 1)
    for (let at = from + y * stride; at < from + y * stride + side; at += 1)
      if (samples[at] !== samples[at - back]) return false;
  return true;
}

interface Beside {
  readonly isKey: boolean;
  /** Whether the block there went as plain samples; `undefined` where there is none. */
  readonly left: boolean | undefined;
  readonly above: boolean | undefined;
}

function writeBlock(writer: BitWriter, place: Place, { isKey, left, above }: Beside): "plain" | "continued" {
  const squares = squaresOf(place);
  // In other frames the types of blocks within a frame are counted on after five of their own.
  const firstType = isKey ? 0 : 5;
  const goesLeft = left !== undefined && squares.every((square) => continues(square, 1));
  const goesUp =
    !goesLeft && above !== undefined && squares.every((square) => continues(square, square.stride));
  if (goesLeft || goesUp) {
    writer.ue(firstType + (goesLeft ? 2 : 1));
    writer.ue(goesLeft ? 1 : 2);
    writer.se(0);
    // No coefficients, in the code that the blocks beside call for (9.2.1): plain ones count as sixteen.
    const beside = [left, above].filter((one) => one !== undefined);
    if (beside.includes(true)) writer.bits(0b000011, 6);
    else writer.bits(1, 1);
    return "continued";
  }
  writer.ue(firstType + 25);
  writer.align();
  for (const { samples, stride, from, side } of squares)
    for (let y = 0; y < side; y += 1)
      writer.bytes(samples.subarray(from + y * stride, from + y * stride + side));
  return "plain";
}

/** `number` is that of the key frame, or of the frame since the last key frame. */
function writeSliceHeader(writer: BitWriter, isKey: boolean, number: number): void {
  writer.ue(0); // first_mb_in_slice
  writer.ue(isKey ? 7 : 5); // slice_type: all I, all P
  writer.ue(0); // pic_parameter_set_id
  writer.bits(isKey ? 0 : number, 8); // frame_num
  if (isKey) {
    writer.ue(number); // idr_pic_id
    writer.bits(0, 2); // no_output_of_prior_pics_flag, long_term_reference_flag
  } else writer.bits(0, 3); // num_ref_idx_active_override_flag, ref_pic_list_modification_flag_l0, adaptive_ref_pic_marking_mode_flag
  writer.se(0); // slice_qp_delta
  writer.ue(1); // disable_deblocking_filter_idc
}

function sequenceParameters({ width, height }: PixelSize, fps: number): Uint8Array {
  const writer = createBitWriter();
  const columns = Math.ceil(width / BLOCK);
  const rows = Math.ceil(height / BLOCK);
  for (const byte of [...PROFILE, levelOf(columns * rows)]) writer.bits(byte, 8);
  writer.ue(0); // seq_parameter_set_id
  writer.ue(4); // log2_max_frame_num_minus4
  writer.ue(2); // pic_order_cnt_type
  writer.ue(1); // max_num_ref_frames
  writer.bits(0, 1); // gaps_in_frame_num_value_allowed_flag
  writer.ue(columns - 1);
  writer.ue(rows - 1);
  writer.bits(0b11, 2); // frame_mbs_only_flag, direct_8x8_inference_flag
  const [right, bottom] = [columns * BLOCK - width, rows * BLOCK - height];
  writer.bits(right + bottom > 0 ? 1 : 0, 1); // frame_cropping_flag, then offsets in pairs of samples
  if (right + bottom > 0) for (const offset of [0, right / 2, 0, bottom / 2]) writer.ue(offset);
  writer.bits(1, 1); // vui_parameters_present_flag
  writer.bits(0b00, 2); // aspect_ratio_info_present_flag, overscan_info_present_flag
  writer.bits(0b1_101_0_1, 6); // video_signal_type: unspecified format, limited range, a colour description
  for (const bt709 of [1, 1, 1]) writer.bits(bt709, 8);
  writer.bits(0, 1); // chroma_loc_info_present_flag
  writer.bits(1, 1); // timing_info_present_flag, in fields
  writer.bits(1, 32);
  writer.bits(fps * 2, 32);
  writer.bits(1, 1); // fixed_frame_rate_flag
  writer.bits(0b0000, 4); // no HRD of either kind, no pic_struct, no bitstream restriction
  return writer.take();
}

function pictureParameters(): Uint8Array {
  const writer = createBitWriter();
  writer.ue(0); // pic_parameter_set_id
  writer.ue(0); // seq_parameter_set_id
  writer.bits(0b00, 2); // entropy_coding_mode_flag: CAVLC; bottom_field_pic_order_in_frame_present_flag
  for (const none of [0, 0, 0]) writer.ue(none); // slice groups, reference indices
  writer.bits(0b000, 3); // weighted prediction
  for (const none of [0, 0, 0]) writer.se(none); // quantizers
  writer.bits(0b100, 3); // deblocking_filter_control_present_flag, constrained_intra_pred_flag, redundant_pic_cnt_present_flag
  return writer.take();
}

/** The lowest level for frames of so many blocks, as `level_idc` (Table A-1). */
function levelOf(blocks: number): number {
  if (blocks <= 1_620) return 30;
  if (blocks <= 3_600) return 31;
  return blocks <= 5_120 ? 32 : 40;
}

/** A unit with its head, and with a 3 wherever two zeros could be taken for the begin of the next (7.4.1). */
function nal(head: number, payload: Uint8Array): Uint8Array {
  const unit = new Uint8Array(1 + Math.ceil(payload.length * 1.5));
  unit[0] = head;
  let length = 1;
  let zeros = 0;
  for (const byte of payload) {
    if (zeros === 2 && byte <= 3) {
      unit[length] = 3;
      length += 1;
      zeros = 0;
    }
    unit[length] = byte;
    length += 1;
    zeros = byte === 0 ? zeros + 1 : 0;
  }
  return unit.slice(0, length);
}

/** Source: ISO/IEC 14496-15, 5.3.3.1. */
function decoderConfig({ width, height }: PixelSize, sequence: Uint8Array, picture: Uint8Array): Uint8Array {
  const level = levelOf(Math.ceil(width / BLOCK) * Math.ceil(height / BLOCK));
  const counted = (unit: Uint8Array): readonly number[] => [unit.length >> 8, unit.length & 255, ...unit];
  return new Uint8Array([1, ...PROFILE, level, 0xff, 0xe1, ...counted(sequence), 1, ...counted(picture)]);
}
