// Paints the rows of cells that are in sight onto a canvas: never more than fit on the screen, so that it takes as long for 10,000 nodes as for
// 1,000. Reads colours once a scheme.
import { firstRow } from './groups.js';
import { moves } from './nodes.js';
import { markOf, states } from './states.js';

// Few nodes are shown large, many so that they fit.
export function sizesFor(n) {
	const cell = n <= 60 ? 40 : n <= 600 ? 28 : 20;
	return { cell, gap: cell / 5, heading: 32 };
}
const ROUND = 4;

export function readColours(element) {
	const style = getComputedStyle(element);
	const take = (name) => style.getPropertyValue(name).trim();
	return {
		ink: take('--ink'), quiet: take('--quiet'), accent: take('--accent'), sheet: take('--sheet'), mark: take('--cell-mark'),
		states: Object.fromEntries(states.map((s) => [s.name, take(`--state-${s.name}`)])),
	};
}

// How far its hand-over is, 0 to 1.
export const progress = (node) => {
	const n = node.plan?.steps?.length;
	return n ? Math.min(1, (node.plan.cursor ?? 0) / n) : 0;
};

function paintCell(c, colours, cell, node, x, y) {
	const colour = colours.states[node.state] ?? colours.quiet;
	c.globalAlpha = node.up || node.state === 'new' ? 1 : 0.4;
	c.beginPath();
	c.roundRect(x, y, cell, cell, ROUND);
	if (moves(node)) { // it fills as its steps are done
		c.fillStyle = colours.sheet;
		c.fill();
		c.save();
		c.clip();
		c.fillStyle = colour;
		const full = Math.round(cell * (0.15 + 0.85 * progress(node)));
		c.fillRect(x, y + cell - full, cell, full);
		c.restore();
		c.strokeStyle = colour;
		c.lineWidth = 1.5;
		c.stroke();
	} else {
		c.fillStyle = colour;
		c.fill();
	}
	const mark = markOf(node.state);
	if (mark) {
		c.fillStyle = moves(node) && progress(node) < 0.5 ? colours.ink : colours.mark;
		c.fillText(mark, x + cell / 2, y + cell / 2 + 1);
	}
	c.globalAlpha = 1;
}

function paintFrame(c, colour, x, y, cell, width, inset) {
	c.beginPath();
	c.roundRect(x - inset, y - inset, cell + 2 * inset, cell + 2 * inset, ROUND + inset);
	c.strokeStyle = colour;
	c.lineWidth = width;
	c.stroke();
}

function paintRow(c, view, row, y) {
	const { cell, gap } = view.sizes;
	c.font = '600 13px system-ui, "DejaVu Sans", sans-serif';
	c.textAlign = 'center';
	row.nodes.forEach((node, i) => {
		const x = view.left + i * (cell + gap);
		paintCell(c, view.colours, cell, node, x, y);
		if (view.picked.has(node.name))
			paintFrame(c, view.colours.ink, x, y, cell, 2, 1);
		if (view.active === node.name && view.focused)
			paintFrame(c, view.colours.accent, x, y, cell, 3, 2.5);
	});
}

function paintHeading(c, view, row, y) {
	c.textAlign = 'left';
	c.font = '600 14px system-ui, "DejaVu Sans", sans-serif';
	c.fillStyle = view.colours.ink;
	c.fillText(row.title, view.left, y + view.sizes.heading / 2);
	const wide = c.measureText(row.title).width;
	c.font = '13px system-ui, "DejaVu Sans", sans-serif';
	c.fillStyle = view.colours.quiet;
	c.fillText(String(row.n), view.left + wide + 10, y + view.sizes.heading / 2);
}

// view: { sizes, rows, top, width, height, left, colours, picked, active, focused }
export function paint(canvas, view) {
	const ratio = devicePixelRatio || 1;
	const c = canvas.getContext('2d');
	if (canvas.width !== Math.round(view.width * ratio) || canvas.height !== Math.round(view.height * ratio)) {
		canvas.width = Math.round(view.width * ratio);
		canvas.height = Math.round(view.height * ratio);
	}
	c.setTransform(ratio, 0, 0, ratio, 0, 0);
	c.clearRect(0, 0, view.width, view.height);
	c.textBaseline = 'middle';
	for (let i = firstRow(view.rows, view.top); i < view.rows.length && view.rows[i].y < view.top + view.height; i++) {
		const row = view.rows[i];
		(row.nodes ? paintRow : paintHeading)(c, view, row, row.y - view.top);
	}
}
