import { expect, test } from "bun:test";
import {
  fileNameOf,
  isAssetName,
  isTaskId,
  mediaTypeOf,
  pathOf,
  readPath,
  resultFileOf,
} from "./asset-name.ts";

const HEX = "0a".repeat(16);
const TASK = `img_${HEX}`;
const NAME = `${HEX}.png`;

test("a task's id and a file's name are known by every letter", () => {
  for (const id of [TASK, `vid_${HEX}`]) expect([id, isTaskId(id)]).toEqual([id, true]);
  for (const id of [
    "",
    HEX,
    `aud_${HEX}`,
    `img_${HEX}0`,
    `img_${HEX.slice(1)}`,
    `img_${"0A".repeat(16)}`,
    `${TASK}\n`,
  ])
    expect([id, isTaskId(id)]).toEqual([id, false]);
  for (const kind of ["png", "jpg", "webp", "mp4"]) expect(isAssetName(`${HEX}.${kind}`)).toBe(true);
  for (const name of ["", HEX, `${HEX}.gif`, `${HEX}.PNG`, `${HEX}0.png`, `x${NAME}`, `${NAME}.png`])
    expect([name, isAssetName(name)]).toEqual([name, false]);
});

test("a file's media type goes by its name", () => {
  const types = { png: "image/png", jpg: "image/jpeg", webp: "image/webp", mp4: "video/mp4" };
  for (const [kind, type] of Object.entries(types)) expect(mediaTypeOf(`${HEX}.${kind}`)).toBe(type);
  expect(() => mediaTypeOf("x.png")).toThrow("no name of a result file");
});

test("a file is named by its content, and saved under its task's name", () => {
  const content = { extension: "png", mediaType: "image/png" } as const;
  expect(resultFileOf(content, 5, `${HEX}ff`)).toEqual({
    name: NAME,
    mediaType: "image/png",
    bytes: 5,
    sha256: `${HEX}ff`,
  });
  expect(fileNameOf({ taskId: TASK, name: NAME })).toBe(`${TASK}-0a0a0a0a.png`);
});

test("a path leads to a file letter by letter, and nowhere else", () => {
  const asset = { taskId: TASK, name: NAME };
  expect(pathOf(asset)).toBe(`/assets/${TASK}/${NAME}`);
  expect(readPath(pathOf(asset))).toEqual(asset);
  for (const path of [
    "",
    "/assets",
    `/assets/${TASK}`,
    `assets/${TASK}/${NAME}`,
    `/x/assets/${TASK}/${NAME}`,
    `x/assets/${TASK}/${NAME}`,
    `/Assets/${TASK}/${NAME}`,
    `/assets/${TASK}/${NAME}/`,
    `/assets/${TASK}/${NAME}/x`,
    `/assets/../${NAME}`,
    `/assets/${TASK}/x`,
  ])
    expect([path, readPath(path)]).toEqual([path, undefined]);
});
