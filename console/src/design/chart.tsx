import { createEffect, createMemo, createSignal, For, on, onCleanup, onMount, Show } from "solid-js";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { axisTime, exactTime } from "../format/times.ts";
import styles from "./chart.module.css";
import { colourOf, themeChanges } from "./colours.ts";
import { drawHeat, type Heat, heatRange, heatSplits } from "./heat.ts";
import { ROUND_VALUES } from "./round-values.ts";
import { coloursOf, withoutNeighbour } from "./series.ts";

/** A line of a chart: a value for each time, `null` where there is none. */
export interface Series {
  readonly name: string;
  readonly values: readonly (number | null)[];
  /** A colour of the tokens, `var(--bad)`; absent: the one that belongs to the name. */
  readonly colour?: string;
}

const HEIGHT = 200;
const cursor = uPlot.sync("page");

/**
 * Series over time, as lines or stacked areas. All charts of a page share one cursor; dragging tells `onZoom` the range
 * in Unix seconds.
 */
export function TimeChart(props: {
  readonly label: string;
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly stacked?: boolean;
  /** What is drawn behind the lines, and what its cells count; the axis of the values is logarithmic then. */
  readonly heat?: { readonly cells: Heat; readonly of: string };
  readonly format: (value: number) => string;
  /** How the axis says a value, where that may be a fraction; absent: values are whole, and so are the axis's steps. */
  readonly axisFormat?: (value: number) => string;
  readonly onZoom?: (from: number, to: number) => void;
}) {
  let place = document.createElement("div");
  const [shown, setShown] = createSignal<number | null>(null);
  const colours = createMemo(() => {
    const byName = coloursOf(
      props.series.filter(({ colour }) => colour === undefined).map(({ name }) => name),
    );
    return props.series.map(({ name, colour }) => colour ?? byName.get(name) ?? "");
  });
  const data = (): uPlot.AlignedData =>
    props.heat === undefined
      ? dataOf(props.times, props.series, props.stacked === true)
      : dataOf(props.times, props.series.map(aboveZero), false);
  const draw = (width: number): uPlot => {
    const span = (props.times.at(-1) ?? 0) - (props.times[0] ?? 0);
    const axis = { stroke: colourOf("--ink-soft"), font: "12px system-ui", ticks: { show: false } };
    const grid = { stroke: colourOf("--line"), width: 1 };
    const heatColour = props.heat === undefined ? undefined : colourOf(HEAT_COLOUR);
    return new uPlot(
      {
        width,
        height: HEIGHT,
        padding: [8, 26, 0, 0],
        legend: { show: false },
        cursor: {
          // The other charts show where the pointer is; the one that is dragged says the range.
          sync: {
            key: cursor.key,
            filters: { pub: (type) => type === "mousemove" || type === "mouseleave" },
          },
          drag: { x: props.onZoom !== undefined, setScale: false },
        },
        scales: { y: scaleOf(() => props.heat?.cells) },
        axes: [
          {
            ...axis,
            grid: { show: false },
            size: 32,
            gap: 10,
            values: (_, ticks) => ticks.map((tick) => axisTime(tick, span)),
          },
          {
            ...axis,
            grid,
            ...(props.axisFormat === undefined ? { incrs: [...ROUND_VALUES] } : {}),
            ...(props.heat === undefined
              ? {}
              : {
                  splits: (_: uPlot, __: number, from: number, to: number) => heatSplits(from, to),
                  // The library would leave most values of a logarithmic axis out.
                  filter: (_: uPlot, splits: number[]) => splits,
                }),
            gap: 8,
            size: (_, labels) => axisWidth(labels),
            values: (_, ticks) => ticks.map(props.axisFormat ?? props.format),
          },
        ],
        series: [
          {},
          ...props.series.map(({ name }, at) => {
            const colour = colourOf((colours()[at] ?? "").slice(4, -1));
            return {
              label: name,
              stroke: colour,
              width: 1.5,
              points: {
                size: 4,
                show: true,
                filter: ({ data }: uPlot, row: number) => withoutNeighbour(data[row] ?? []),
              },
              ...(props.stacked === true ? { fill: `${colour}59` } : {}),
            };
          }),
        ],
        ...(props.stacked === true ? { bands: bandsOf(props.series.length) } : {}),
        hooks: {
          ...(heatColour === undefined
            ? {}
            : { drawClear: [(plot: uPlot) => drawHeat(plot, props.heat?.cells ?? [], heatColour)] }),
          setCursor: [(plot) => setShown(plot.cursor.idx ?? null)],
          setSelect: [
            (plot) => {
              if (plot.select.width < 4) return;
              const at = (left: number): number => Math.round(plot.posToVal(left, "x"));
              props.onZoom?.(at(plot.select.left), at(plot.select.left + plot.select.width));
              plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            },
          ],
        },
      },
      data(),
      place,
    );
  };
  onMount(() => {
    // The observer tells the width once the page is laid out: asking for it earlier would lay it out for each chart.
    const [width, setWidth] = createSignal(0);
    const resized = new ResizeObserver((entries) =>
      setWidth(Math.floor(entries.at(-1)?.contentRect.width ?? 0)),
    );
    resized.observe(place);
    let plot: uPlot | undefined;
    const shape = createMemo(() => JSON.stringify([props.series.map(({ name }) => name), colours()]));
    const isLaidOut = createMemo(() => width() > 0);
    createEffect(
      on([themeChanges, shape, isLaidOut], () => {
        plot?.destroy();
        plot = isLaidOut() ? draw(width()) : undefined;
      }),
    );
    // New values of the same series keep the plot, and with it the cursor.
    createEffect(on(data, (next) => plot?.setData(next), { defer: true }));
    createEffect(
      on(width, (next) => {
        if (plot !== undefined && plot.width !== next) plot.setSize({ width: next, height: HEIGHT });
      }),
    );
    onCleanup(() => {
      resized.disconnect();
      plot?.destroy();
    });
  });
  const said = (value: number | null | undefined): string =>
    value === null || value === undefined ? "–" : props.format(value);
  const at = (): number => shown() ?? props.times.length - 1;
  return (
    <figure aria-label={props.label}>
      <div class={styles.chart} ref={(element) => (place = element)} />
      <figcaption class={styles.legend}>
        <span>{props.times[at()] === undefined ? "" : exactTime(props.times[at()] ?? 0)}</span>
        <For each={props.series}>
          {({ name, values }, i) => (
            <span class={styles.key}>
              <svg viewBox="0 0 10 10" aria-hidden="true">
                <rect width="10" height="10" rx="2" fill={colours()[i()]} />
              </svg>
              {name} <span class={styles.value}>{said(values[at()])}</span>
            </span>
          )}
        </For>
        <Show when={props.heat}>
          {(heat) => (
            <span class={styles.key}>
              <svg viewBox="0 0 10 10" aria-hidden="true">
                <rect width="10" height="10" rx="2" fill={`var(${HEAT_COLOUR})`} opacity="0.4" />
              </svg>
              {heat().of}, the denser the more
            </span>
          )}
        </Show>
      </figcaption>
    </figure>
  );
}

const HEAT_COLOUR = "--series-1";

/** From nothing to a little above the most; logarithmic where there is heat. */
function scaleOf(heat: () => Heat | undefined): uPlot.Scale {
  return heat() === undefined
    ? { range: (_, __, most) => [0, most > 0 ? most * 1.05 : 1] }
    : { distr: 3, log: 2, range: (_, least, most) => heatRange(heat() ?? [], least, most) };
}

/** A logarithmic axis has no zero. */
function aboveZero(series: Series): Series {
  return { ...series, values: series.values.map((value) => (value === null ? null : Math.max(1, value))) };
}

const CHARACTER_PX = 7;

/** The room that the labels of the values need. */
function axisWidth(labels: readonly string[] | null): number {
  return 16 + CHARACTER_PX * Math.max(2, ...(labels ?? []).map(({ length }) => length));
}

/** The values as they are drawn: a stacked series stands on those after it, so that none hides another. */
function dataOf(times: readonly number[], series: readonly Series[], isStacked: boolean): uPlot.AlignedData {
  const rows = series.map(({ values }) => values.map((value) => value ?? (isStacked ? 0 : null)));
  if (isStacked)
    for (let at = rows.length - 2; at >= 0; at -= 1)
      rows[at] = (rows[at] ?? []).map((value, i) => (value ?? 0) + (rows[at + 1]?.[i] ?? 0));
  return [[...times], ...rows];
}

/** Each stacked series is filled down to the one it stands on, so that colours do not mix. */
function bandsOf(count: number): uPlot.Band[] {
  return Array.from({ length: count - 1 }, (_, at) => ({ series: [at + 1, at + 2] }));
}
