// Paints the part of a workflow that is in sight onto a canvas: boxes, and the lines between them. Reads colours once a scheme.
import { markOfTask, taskStates } from './flow_states.js';

const ROUND = 6, ARROW = 7, PORT = 5;
const TEXT_FROM = 0.42; // smaller letters nobody reads
const FAINT_FROM = 600; // so many lines cover what they should show
const FONT = 'system-ui, "DejaVu Sans", sans-serif';

export function readFlowColours(element) {
	const style = getComputedStyle(element);
	const take = (name) => style.getPropertyValue(name).trim();
	return {
		ink: take('--ink'), quiet: take('--quiet'), accent: take('--accent'), sheet: take('--sheet'), line: take('--flow-line'), bad: take('--bad'), soft: take('--soft'),
		states: Object.fromEntries(taskStates.map((s) => [s.name, take(`--flow-${s.name}`)])),
	};
}

// Where a line begins, bends and ends.
export function curveOf(from, to) {
	const x1 = from.x, y1 = from.y + from.h / 2, x2 = to.x, y2 = to.y - to.h / 2;
	const bend = Math.max(24, Math.abs(y2 - y1) / 2);
	return { x1, y1, x2, y2, c1: y1 + bend, c2: y2 - bend };
}

function strokeCurve(c, q) {
	c.beginPath();
	c.moveTo(q.x1, q.y1);
	c.bezierCurveTo(q.x1, q.c1, q.x2, q.c2, q.x2, q.y2 - 1);
	c.stroke();
}

function paintArrow(c, q) {
	c.beginPath();
	c.moveTo(q.x2, q.y2);
	c.lineTo(q.x2 - ARROW / 2, q.y2 - ARROW);
	c.lineTo(q.x2 + ARROW / 2, q.y2 - ARROW);
	c.fill();
}

function paintLine(c, view, edge, colour, width) {
	const from = view.byKey.get(edge.from), to = view.byKey.get(edge.to);
	if (!from || !to)
		return;
	const q = curveOf(from, to), s = view.seen;
	if (Math.max(q.y1, q.y2) + 40 < s.top || Math.min(q.y1, q.y2) - 40 > s.bottom || Math.max(q.x1, q.x2) < s.left || Math.min(q.x1, q.x2) > s.right)
		return;
	c.strokeStyle = c.fillStyle = colour;
	c.lineWidth = width;
	c.setLineDash(edge.look === 'order' ? [5, 4] : []);
	strokeCurve(c, q);
	c.setLineDash([]);
	if (view.scale >= 0.25)
		paintArrow(c, q);
}

function paintLines(c, view) {
	const own = [];
	c.globalAlpha = view.edges.length > FAINT_FROM ? 0.35 : 1;
	for (const e of view.edges) {
		if (e.from === view.active || e.to === view.active || e.key === view.chosen)
			own.push(e);
		else
			paintLine(c, view, e, view.colours.line, 1.25);
	}
	c.globalAlpha = 1;
	for (const e of own)
		paintLine(c, view, e, e.key === view.chosen ? view.colours.bad : view.colours.accent, 2);
}

function cut(c, text, width) {
	if (c.measureText(text).width <= width)
		return text;
	let n = text.length;
	while (n > 1 && c.measureText(`${text.slice(0, n)}…`).width > width)
		n = Math.floor(n * 0.9);
	return `${text.slice(0, n)}…`;
}

function paintWords(c, view, b) {
	const { ink, quiet, states } = view.colours;
	const mark = markOfTask(b.state);
	const left = b.x - b.w / 2 + (mark ? 24 : 10), wide = b.w - (mark ? 32 : 18);
	if (mark) {
		c.fillStyle = states[b.state];
		c.font = `700 14px ${FONT}`;
		c.fillText(mark, b.x - b.w / 2 + 9, b.y);
	}
	c.fillStyle = ink;
	c.font = `600 13px ${FONT}`;
	c.fillText(cut(c, b.title, wide), left, b.sub ? b.y - 7 : b.y);
	if (b.sub) {
		c.fillStyle = quiet;
		c.font = `11px ${FONT}`;
		c.fillText(cut(c, b.sub, wide), left, b.y + 9);
	}
}

function paintShape(c, b) {
	c.beginPath();
	c.roundRect(b.x - b.w / 2, b.y - b.h / 2, b.w, b.h, b.kind === 'file' ? b.h / 2 : ROUND);
}

function paintBox(c, view, b) {
	const { colours } = view;
	const small = view.scale < TEXT_FROM, state = colours.states[b.state];
	paintShape(c, b);
	c.fillStyle = small && state ? state : b.kind === 'file' ? colours.soft : colours.sheet;
	c.fill();
	c.strokeStyle = b.bad ? colours.bad : state ?? colours.quiet;
	c.lineWidth = b.bad || state ? 2.5 : 1.25;
	c.setLineDash(b.kind === 'file' && b.outside ? [4, 3] : []);
	c.stroke();
	c.setLineDash([]);
	if (!small)
		paintWords(c, view, b);
	if (view.ports && !small) {
		c.beginPath();
		c.arc(b.x, b.y + b.h / 2, PORT, 0, 7);
		c.fillStyle = colours.sheet;
		c.fill();
		c.strokeStyle = colours.accent;
		c.lineWidth = 1.5;
		c.stroke();
	}
}

function paintFrame(c, view, b) {
	c.beginPath();
	c.roundRect(b.x - b.w / 2 - 5, b.y - b.h / 2 - 5, b.w + 10, b.h + 10, ROUND + 5);
	c.strokeStyle = view.colours.accent;
	c.lineWidth = Math.max(view.focused ? 3 : 1.5, 1.5 / view.scale);
	c.setLineDash(view.linking === b.key ? [6, 4] : []);
	c.stroke();
	c.setLineDash([]);
}

// The part of the plane that is in sight.
export const seenOf = (view) => ({ left: -view.x / view.scale, top: -view.y / view.scale, right: (view.width - view.x) / view.scale, bottom: (view.height - view.y) / view.scale });

// view: { width, height, x, y, scale, boxes, byKey, edges, colours, active, chosen, linking, focused, ports, rubber }
export function paintFlow(canvas, view) {
	const ratio = devicePixelRatio || 1, c = canvas.getContext('2d');
	const w = Math.round(view.width * ratio), h = Math.round(view.height * ratio);
	if (canvas.width !== w || canvas.height !== h)
		Object.assign(canvas, { width: w, height: h });
	const s = view.seen = seenOf(view);
	c.setTransform(ratio, 0, 0, ratio, 0, 0);
	c.clearRect(0, 0, view.width, view.height);
	c.setTransform(ratio * view.scale, 0, 0, ratio * view.scale, ratio * view.x, ratio * view.y);
	c.textBaseline = 'middle';
	paintLines(c, view);
	for (const b of view.boxes)
		if (b.x + b.w > s.left && b.x - b.w < s.right && b.y + b.h > s.top && b.y - b.h < s.bottom)
			paintBox(c, view, b);
	for (const key of new Set([view.active, view.linking]))
		if (view.byKey.has(key))
			paintFrame(c, view, view.byKey.get(key));
	if (view.rubber) {
		c.strokeStyle = view.colours.accent;
		c.lineWidth = 2;
		strokeCurve(c, curveOf(view.rubber.from, { x: view.rubber.x, y: view.rubber.y, h: 0 }));
	}
}
