import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { createCanvas, fillCanvas, type Canvas } from "./canvas.ts";
import { fillPath, fillTogether } from "./fill.ts";
import { shapesOf, widthOf } from "./font.ts";
import { arc, type Contour, disc, type Point, rounded, stroke } from "./path.ts";
import { fitText, LINE, oneLine } from "./text.ts";

const RUNS = {
  seed: Number(process.env.SWITCHYARD_TEST_SEED ?? "1"),
  numRuns: process.env.SWITCHYARD_TEST_LONG === "1" ? 2_000 : 100,
};
const SIZE = { width: 60, height: 40 };
const WHITE = { colour: [255, 255, 255] } as const;

/** How much of the canvas is white, in pixels. */
function inked({ pixels }: Canvas): number {
  let sum = 0;
  for (let at = 0; at < pixels.length; at += 4) sum += pixels[at]!;
  return sum / 255;
}

function filled(contours: readonly Contour[], size = SIZE): Canvas {
  const canvas = createCanvas(size);
  fillPath(canvas, contours, WHITE);
  return canvas;
}

/** Of a simple polygon, whichever way it goes. */
function areaOf(contour: Contour): number {
  const twice = contour.reduce((sum, [x, y], i) => {
    const [nextX, nextY] = contour[(i + 1) % contour.length]!;
    return sum + x * nextY - nextX * y;
  }, 0);
  return Math.abs(twice) / 2;
}

const coordinate = (most: number): fc.Arbitrary<number> =>
  fc.double({ min: 1, max: most - 1, noNaN: true, noDefaultInfinity: true });
const point: fc.Arbitrary<Point> = fc.tuple(coordinate(SIZE.width), coordinate(SIZE.height));

describe("a path", () => {
  test("covers of each pixel what lies within it: a triangle gets as much paint as it is large", () => {
    fc.assert(
      fc.property(point, point, point, (...triangle) => {
        // Each of some hundred pixels at its edge is rounded to one of 256 shades.
        expect(Math.abs(inked(filled([triangle])) - areaOf(triangle))).toBeLessThan(1);
      }),
      RUNS,
    );
  });

  test("is the same whichever way it goes, and wherever it begins", () => {
    fc.assert(
      fc.property(fc.array(point, { minLength: 3, maxLength: 6 }), fc.nat(5), (points, by) => {
        const turned = [...points.slice(by % points.length), ...points.slice(0, by % points.length)];
        const { pixels } = filled([points]);
        for (const other of [turned, points.toReversed()])
          filled([other]).pixels.forEach((shade, i) => expect(Math.abs(shade - pixels[i]!)).toBeLessThan(2));
      }),
      { ...RUNS, numRuns: 20 },
    );
  });

  test("is cut off at the canvas, and fills it where it is larger", () => {
    const all: Contour = [
      [-90, -90],
      [900, -90],
      [900, 900],
      [-90, 900],
    ];
    expect(inked(filled([all]))).toBe(SIZE.width * SIZE.height);
    const corner: Contour = [
      [-90, -90],
      [10.5, -90],
      [10.5, 4.5],
      [-90, 4.5],
    ];
    expect(inked(filled([corner]))).toBeCloseTo(10.5 * 4.5, 0);
    for (const away of [
      [-50, -50],
      [200, 200],
      [-50, 20],
      [30, 90],
    ] as const)
      expect(inked(filled([disc(away, 20)]))).toBe(0);
  });

  test("of shapes that lie over each other is one shape", () => {
    const box = rounded({ x: 5, y: 5, width: 20, height: 10 }, 0);
    expect(inked(filled([box, box]))).toBeCloseTo(200, 0);
    const half = rounded({ x: 5.5, y: 5, width: 20, height: 10 }, 0);
    const canvas = createCanvas(SIZE);
    fillTogether(canvas, [[half], [half], [half]], WHITE);
    expect([...canvas.pixels]).toEqual([...filled([half]).pixels]);
  });

  test("has the area that its formula gives", () => {
    expect(inked(filled([disc([30, 20], 15)]))).toBeCloseTo(Math.PI * 225, -1);
    expect(inked(filled([rounded({ x: 3.3, y: 4.6, width: 40, height: 20 }, 6)]))).toBeCloseTo(
      800 - (4 - Math.PI) * 36,
      -1,
    );
    expect(
      inked(
        filled(
          stroke(
            [
              [10, 20],
              [50, 20],
            ],
            6,
          ),
        ),
      ),
    ).toBeCloseTo(240 + Math.PI * 9, -1);
    const ring = stroke(arc([30, 20], [12, 12], [0, 2 * Math.PI]), 4);
    expect(inked(filled(ring))).toBeCloseTo(Math.PI * (14 ** 2 - 10 ** 2), -1);
  });

  test("is laid over what is there as thick as it is told to be", () => {
    const canvas = createCanvas(SIZE);
    fillCanvas(canvas, { colour: [100, 0, 0] });
    fillPath(canvas, [rounded({ x: 0, y: 0, width: 10, height: 10 }, 0)], {
      colour: [200, 200, 0],
      opacity: 0.5,
    });
    expect(Array.from(canvas.pixels.subarray(0, 4))).toEqual([150, 100, 0, 255]);
    expect(Array.from(canvas.pixels.subarray(-4))).toEqual([100, 0, 0, 255]);
  });
});

describe("text", () => {
  const type = { size: 30 };
  const canvasOf = (text: string): Canvas => {
    const canvas = createCanvas({ width: 400, height: 60 });
    fillTogether(canvas, shapesOf(text, [10, 42], type), WHITE);
    return canvas;
  };

  test("has a shape of its own for every letter of the alphabets that it knows", () => {
    const letters =
      "!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~" +
      "ÄÖÜäöüßéèêñçåøÅØæœŁłžőįđþð€£¥§©®«»–…БГДЖЗИЙЛПУФЦЧШЩЪЫЬЭЮЯбгджзийклпфцчшщъыьэюяΔΘΛΞΣΨΩαβγδεζηθλμξπρσςτφχψω";
    const drawn = new Set(Array.from(letters, (letter) => Bun.hash(canvasOf(letter).pixels)));
    expect(drawn.size).toBe(Array.from(letters).length);
  });

  test("has a box with its number for any other character, which takes as much room", () => {
    const boxes = Array.from("漢字한ا🦊\u0007");
    expect(new Set(boxes.map((box) => Bun.hash(canvasOf(box).pixels))).size).toBe(boxes.length);
    for (const box of boxes) expect(widthOf(box, type)).toBeGreaterThan(15);
  });

  test("stays within its width, whatever it is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 12 }), (text) => {
        const canvas = createCanvas({ width: 500, height: 80 });
        fillTogether(canvas, shapesOf(text, [40, 50], { size: 20 }), WHITE);
        const end = 40 + widthOf(text, { size: 20 });
        for (let x = Math.ceil(end) + 8; x < 500; x += 1)
          for (let y = 0; y < 80; y += 1) expect(canvas.pixels[(y * 500 + x) * 4]).toBe(0);
      }),
      RUNS,
    );
  });

  test("is broken into lines that fit, and nothing of it is lost while there is room", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", maxLength: 200 }),
        fc.integer({ min: 60, max: 400 }),
        (text, width) => {
          const {
            lines,
            type: set,
            height,
          } = fitText(text, { width, height: 100_000 }, { from: 20, to: 10 });
          for (const line of lines) expect(widthOf(line, set)).toBeLessThanOrEqual(width + 0.001);
          expect(lines.join("").replaceAll(/\s/g, "")).toBe(text.trim().replaceAll(/\s/g, ""));
          expect(height).toBeCloseTo(lines.length * set.size * LINE);
        },
      ),
      RUNS,
    );
  });

  test("gets smaller until it fits, and is then left out with an ellipsis", () => {
    const words = "word ".repeat(40);
    const room = { width: 200, height: 150 };
    const large = fitText("two words", room, { from: 40, to: 10 });
    const small = fitText(words, room, { from: 40, to: 10 });
    expect([large.type.size, large.lines]).toEqual([40, ["two words"]]);
    expect(small.type.size).toBeLessThan(40);
    expect(small.height).toBeLessThanOrEqual(150);
    const cut = fitText(words.repeat(9), room, { from: 40, to: 10 });
    expect([cut.type.size, cut.lines.at(-1)?.endsWith("…")]).toEqual([10, true]);
    expect(oneLine("a very long line of text", 80, { size: 20 })).toMatch(/^a very.*…$/);
  });
});
