// What the pointer does on a sheet: opens, moves and connects boxes, chooses lines, shifts and scales what is in sight. Knows nothing of what
// a box is.
import { curveOf } from './flow_paint.js';

const NEAR_PX = 7, PORT_PX = 12, STILL_PX = 4;
const SCALE_MIN = 0.04, SCALE_MAX = 2.5;

export function toPlane(view, event) {
	const box = view.canvas.getBoundingClientRect();
	return { x: (event.clientX - box.left - view.x) / view.scale, y: (event.clientY - box.top - view.y) / view.scale };
}

const within = (b, at, more = 0) => Math.abs(at.x - b.x) <= b.w / 2 + more && Math.abs(at.y - b.y) <= b.h / 2 + more;

export const boxAt = (view, at) => view.boxes.findLast((b) => within(b, at));

const portAt = (view, at) => view.ports && view.boxes.findLast((b) => Math.hypot(at.x - b.x, at.y - b.y - b.h / 2) <= PORT_PX / Math.max(view.scale, 0.5));

function pointOf(q, t) {
	const u = 1 - t;
	return {
		x: q.x1 * (u * u * u + 3 * u * u * t) + q.x2 * (3 * u * t * t + t * t * t),
		y: q.y1 * u * u * u + q.c1 * 3 * u * u * t + q.c2 * 3 * u * t * t + q.y2 * t * t * t,
	};
}

function edgeAt(view, at) {
	return view.edges.find((e) => {
		const from = view.byKey.get(e.from), to = view.byKey.get(e.to);
		for (let t = 0; from && to && t <= 1; t += 0.02) {
			const p = pointOf(curveOf(from, to), t);
			if (Math.hypot(p.x - at.x, p.y - at.y) * view.scale <= NEAR_PX)
				return true;
		}
		return false;
	});
}

export function zoomAt(view, factor, px, py) {
	const scale = Math.min(SCALE_MAX, Math.max(SCALE_MIN, view.scale * factor)), by = scale / view.scale;
	Object.assign(view, { x: px - (px - view.x) * by, y: py - (py - view.y) * by, scale });
}

// The drags there are: each is told of moves, and of the end. told: { again, onActive, onOpen, onChoose, onMove, onConnect }
function dragView(view, from, told) {
	const { x, y } = view;
	return {
		move: (e) => {
			Object.assign(view, { x: x + e.clientX - from.clientX, y: y + e.clientY - from.clientY });
			told.again();
		},
		end: (e, moved) => !moved && told.onChoose(view.ports ? edgeAt(view, toPlane(view, e))?.key : undefined),
	};
}

function dragBox(view, box, from, told) {
	const start = toPlane(view, from), { x, y } = box;
	told.onActive(box.key);
	return {
		move: (e) => {
			if (!told.onMove)
				return;
			const at = toPlane(view, e);
			Object.assign(view.byKey.get(box.key) ?? box, { x: x + at.x - start.x, y: y + at.y - start.y });
			told.again();
		},
		end: (e, moved) => {
			const at = toPlane(view, e);
			if (moved && told.onMove)
				told.onMove(box.key, Math.round(x + at.x - start.x), Math.round(y + at.y - start.y));
			else if (!moved)
				told.onOpen(box.key, true);
		},
	};
}

function dragLine(view, box, told) {
	return {
		move: (e) => {
			view.rubber = { from: box, ...toPlane(view, e) };
			told.again();
		},
		end: (e) => {
			view.rubber = null;
			const to = boxAt(view, toPlane(view, e));
			if (to && to !== box)
				told.onConnect(box.key, to.key);
			told.again();
		},
	};
}

function beginDrag(view, e, told) {
	const at = toPlane(view, e), port = portAt(view, at), box = port || boxAt(view, at);
	if (port)
		return dragLine(view, port, told);
	return box ? dragBox(view, box, e, told) : dragView(view, e, told);
}

// Listens on the canvas until the function that it gives is called. told() gives what to tell by now.
export function listen(view, told) {
	const { canvas } = view;
	let drag = null, from = null, moved = false;
	const down = (e) => {
		if (e.button !== 0)
			return;
		canvas.setPointerCapture(e.pointerId);
		[from, moved, drag] = [e, false, beginDrag(view, e, told())];
	};
	const move = (e) => {
		moved ||= Boolean(from) && Math.hypot(e.clientX - from.clientX, e.clientY - from.clientY) > STILL_PX;
		if (drag && moved)
			drag.move(e);
		else if (!drag)
			canvas.style.cursor = portAt(view, toPlane(view, e)) ? 'crosshair' : boxAt(view, toPlane(view, e)) ? 'pointer' : 'grab';
	};
	const up = (e) => {
		const was = drag;
		drag = from = null;
		was?.end(e, moved);
	};
	const wheel = (e) => {
		e.preventDefault();
		const box = canvas.getBoundingClientRect();
		if (e.ctrlKey || e.metaKey)
			zoomAt(view, Math.exp(-e.deltaY / 300), e.clientX - box.left, e.clientY - box.top);
		else
			Object.assign(view, { x: view.x - (e.shiftKey ? e.deltaY : e.deltaX), y: view.y - (e.shiftKey ? 0 : e.deltaY) });
		told().again();
	};
	const twice = (e) => !boxAt(view, toPlane(view, e)) && told().onAdd?.(toPlane(view, e));
	const all = Object.entries({ pointerdown: down, pointermove: move, pointerup: up, pointercancel: up, dblclick: twice });
	for (const [name, fn] of all)
		canvas.addEventListener(name, fn);
	canvas.addEventListener('wheel', wheel, { passive: false });
	return () => {
		for (const [name, fn] of all)
			canvas.removeEventListener(name, fn);
		canvas.removeEventListener('wheel', wheel);
	};
}
