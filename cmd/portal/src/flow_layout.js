// Where the boxes of a workflow stand: in layers from top to bottom, few lines crossing. Of many tasks a layer is a block of several rows: one
// row of a thousand boxes nobody could look at.
import dagre from '@dagrejs/dagre';

const LAYERED_MAX = 150; // boxes that are laid out one layer a row
const GAP_X = 26, GAP_Y = 54, ROW_GAP = 10, BLOCK_GAP = 90;
export const sizes = { task: { w: 150, h: 40 }, file: { w: 126, h: 28 } };

function inLayers(boxes, edges) {
	const g = new dagre.graphlib.Graph();
	g.setGraph({ rankdir: 'TB', nodesep: GAP_X, ranksep: GAP_Y, ranker: 'network-simplex' });
	g.setDefaultEdgeLabel(() => ({}));
	for (const b of boxes)
		g.setNode(b.key, { width: sizes[b.kind].w, height: sizes[b.kind].h });
	for (const e of edges)
		g.setEdge(e.from, e.to);
	dagre.layout(g);
	return new Map(boxes.map((b) => [b.key, { x: Math.round(g.node(b.key).x), y: Math.round(g.node(b.key).y) }]));
}

// One more than the highest of those for whom it waits; who waits for himself is on level 0.
export function levelsOf(boxes, edges) {
	const left = new Map(boxes.map((b) => [b.key, 0])), next = new Map(boxes.map((b) => [b.key, []]));
	for (const e of edges)
		if (left.has(e.from) && left.has(e.to)) {
			left.set(e.to, left.get(e.to) + 1);
			next.get(e.from).push(e.to);
		}
	const level = new Map(boxes.map((b) => [b.key, 0]));
	const queue = boxes.filter((b) => !left.get(b.key)).map((b) => b.key);
	for (const key of queue) // it grows as we go
		for (const to of next.get(key)) {
			level.set(to, Math.max(level.get(to), level.get(key) + 1));
			left.set(to, left.get(to) - 1);
			if (!left.get(to))
				queue.push(to);
		}
	return level;
}

function inBlocks(boxes, edges) {
	const level = levelsOf(boxes, edges), before = new Map(), at = new Map(), places = new Map();
	for (const e of edges)
		before.set(e.to, [...(before.get(e.to) ?? []), e.from]);
	const rows = [];
	for (const b of boxes)
		(rows[level.get(b.key)] ??= []).push(b);
	const columns = Math.max(8, Math.ceil(Math.sqrt(2 * Math.max(...rows.map((r) => r.length)))));
	const { w, h } = sizes.task;
	let top = 0;
	for (const row of rows) {
		const middle = (b) => (before.get(b.key) ?? []).reduce((sum, key, _, all) => sum + at.get(key) / all.length, 0);
		const sorted = row.map((b) => [middle(b), b]).sort((a, b) => a[0] - b[0]);
		const across = Math.min(columns, sorted.length);
		sorted.forEach(([, b], i) => {
			at.set(b.key, (i + 0.5) / sorted.length);
			places.set(b.key, { x: (i % across - (across - 1) / 2) * (w + GAP_X), y: top + Math.floor(i / across) * (h + ROW_GAP) });
		});
		top += Math.ceil(sorted.length / across) * (h + ROW_GAP) + BLOCK_GAP;
	}
	return places;
}

// boxes: { key, kind }, edges: { from, to }; gives a Map of the middles by key.
export const layOutFlow = (boxes, edges) => (boxes.length > LAYERED_MAX ? inBlocks : inLayers)(boxes, edges);

// The next box from one in the direction of an arrow: near, and rather straight on.
export function nextBox(boxes, from, key) {
	const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
	let best = from, least = Infinity;
	for (const b of boxes) {
		const along = (b.x - from.x) * dx + (b.y - from.y) * dy;
		const aside = Math.abs((b.x - from.x) * dy) + Math.abs((b.y - from.y) * dx);
		const far = along + 2 * aside;
		if (b.key !== from.key && along > 0 && far < least)
			[best, least] = [b, far];
	}
	return best;
}

export function extentOf(boxes) {
	const e = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
	for (const b of boxes) {
		e.left = Math.min(e.left, b.x - b.w / 2);
		e.right = Math.max(e.right, b.x + b.w / 2);
		e.top = Math.min(e.top, b.y - b.h / 2);
		e.bottom = Math.max(e.bottom, b.y + b.h / 2);
	}
	return boxes.length ? e : { left: 0, top: 0, right: 0, bottom: 0 };
}
