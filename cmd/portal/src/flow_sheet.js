// The sheet on which a workflow is drawn: a canvas as large as what is in sight, painted at most once a frame. For who uses no mouse it is a
// list: the arrows go from box to box, Enter opens one; a reader is told the box where one is, and an enlarger finds it.
import { useEffect, useRef } from 'preact/hooks';
import { extentOf, nextBox } from './flow_layout.js';
import { paintFlow, readFlowColours, seenOf } from './flow_paint.js';
import { listen, zoomAt } from './flow_pointer.js';
import { useFrame } from './frame.js';
import { html } from './html.js';

const MARGIN = 30, STEP = 1.25, FIT_MIN = 0.04;

function usePainter(view) {
	return useFrame(view, 'portal-flow-paint', (v) => {
		paintFlow(v.canvas, v);
		v.place?.();
	}, (v) => v.colours);
}

// All of it in sight, if letters can be read then or `whole` is asked for; else its beginning.
function fit(v, whole) {
	const e = extentOf(v.boxes), w = e.right - e.left || 1, h = e.bottom - e.top || 1;
	const all = Math.min((v.width - 2 * MARGIN) / w, (v.height - 2 * MARGIN) / h, 1);
	v.scale = Math.max(FIT_MIN, whole ? all : Math.max(all, Math.min(0.5, (v.width - 2 * MARGIN) / w)));
	v.x = v.width / 2 - v.scale * (e.left + w / 2);
	v.y = v.scale * h + 2 * MARGIN <= v.height ? (v.height - v.scale * h) / 2 - v.scale * e.top : MARGIN - v.scale * e.top;
}

// When it is shown first; what is drawn later moves nothing.
function fitOnce(v) {
	if (v.fitted || !v.width)
		return;
	v.fitted = true;
	if (v.boxes.length)
		fit(v, false);
}

function keepInSight(v, box) {
	const s = seenOf(v), px = MARGIN / v.scale;
	const dx = box.x - box.w / 2 - px < s.left ? s.left - (box.x - box.w / 2 - px) : Math.min(0, s.right - (box.x + box.w / 2 + px));
	const dy = box.y - box.h / 2 - px < s.top ? s.top - (box.y - box.h / 2 - px) : Math.min(0, s.bottom - (box.y + box.h / 2 + px));
	Object.assign(v, { x: v.x + dx * v.scale, y: v.y + dy * v.scale });
}

// The canvas is as large as its place, has the scheme's colours, and listens.
function useCanvas(view, again) {
	useEffect(() => {
		const v = view.current, place = v.canvas.parentElement;
		const look = () => {
			Object.assign(v, { width: place.clientWidth, height: place.clientHeight });
			fitOnce(v);
			again();
		};
		const recolour = () => {
			v.colours = readFlowColours(place);
			again();
		};
		const size = new ResizeObserver(look), scheme = matchMedia('(prefers-color-scheme: dark)');
		size.observe(place);
		scheme.addEventListener('change', recolour);
		recolour();
		look();
		const deaf = listen(v, () => v.told);
		return () => { size.disconnect(); scheme.removeEventListener('change', recolour); deaf(); };
	}, []);
}

const ARROWS = ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown'];
const WALKS = [...ARROWS, 'Home', 'End', 'PageDown', 'PageUp']; // the last two go through all of them, as they were drawn

function walk(boxes, active, key) {
	const here = boxes.find((b) => b.key === active);
	if (!boxes.length)
		return undefined;
	if (!here || key === 'Home')
		return boxes[0];
	const at = boxes.indexOf(here);
	if (ARROWS.includes(key))
		return nextBox(boxes, here, key);
	return boxes[{ End: boxes.length - 1, PageDown: Math.min(at + 1, boxes.length - 1), PageUp: Math.max(at - 1, 0) }[key]];
}

// Said of the box where one is, and standing where it stands.
function Heard({ id, box, words, view }) {
	const element = useRef(null);
	view.current.place = () => {
		const v = view.current, b = v.byKey.get(v.active);
		if (b && element.current)
			Object.assign(element.current.style, { left: `${Math.min(v.width - 2, Math.max(0, v.x + v.scale * b.x))}px`, top: `${Math.min(v.height - 2, Math.max(0, v.y + v.scale * b.y))}px` });
	};
	return html`<div class="heard" id=${id} ref=${element} role="option" aria-selected="true">${box ? words : 'nothing is drawn yet'}</div>`;
}

function Scale({ view, again }) {
	const by = (factor) => () => {
		zoomAt(view.current, factor, view.current.width / 2, view.current.height / 2);
		again();
	};
	return html`<div class="scale" role="group" aria-label="Scale"><button type="button" aria-label="Smaller" onClick=${by(1 / STEP)}>−</button>
		<button type="button" onClick=${() => { fit(view.current, true); again(); }}>All</button>
		<button type="button" aria-label="Larger" onClick=${by(STEP)}>+</button></div>`;
}

/* boxes: { key, kind, x, y, w, h, title, sub, state, bad, words }; edges: { key, from, to, look }; active: the key of the box where one is.
 * onActive(key), onOpen(key, byPointer), onKey(event): true: it was taken. Of who may draw: chosen (a line's key), linking (a box's key),
 * onChoose(key), onMove(key, x, y), onConnect(from, to), onAdd({ x, y }). `look` is told what changes the view: { fit(), centre() }. */
export function Sheet({ label, describedby, boxes, edges, active, chosen, linking, draws, onActive, onOpen, onKey, onChoose, onMove, onConnect, onAdd, look }) {
	const view = useRef({ x: 0, y: 0, scale: 1, width: 0, height: 0, boxes: [] });
	const again = usePainter(view), v = view.current;
	const byKey = new Map(boxes.map((b) => [b.key, b])), here = byKey.get(active);
	Object.assign(v, { boxes, edges, byKey, active, chosen, linking, ports: draws, told: { again, onActive, onOpen, onChoose: onChoose ?? (() => {}), onMove, onConnect, onAdd } });
	useCanvas(view, again);
	useEffect(() => {
		fitOnce(v);
		again();
	});
	if (look)
		look.current = { fit: () => { v.fitted = false; again(); }, middle: () => ({ x: (v.width / 2 - v.x) / v.scale, y: (v.height / 2 - v.y) / v.scale }), show: (key) => { const b = v.byKey.get(key); if (b) { keepInSight(v, b); again(); } } };
	const go = (box) => {
		if (!box)
			return;
		onActive(box.key);
		keepInSight(v, box);
	};
	const onKeyDown = (e) => {
		if (onKey?.(e)) {
			// it was taken
		} else if (WALKS.includes(e.key) && !e.altKey && !e.ctrlKey && !e.metaKey) {
			go(walk(boxes, active, e.key));
		} else if (e.key === 'Enter' && here) {
			onOpen(active, false);
		} else if (['+', '-', '0'].includes(e.key) && !e.ctrlKey && !e.metaKey) {
			if (e.key === '0')
				fit(v, true);
			else
				zoomAt(v, e.key === '+' ? STEP : 1 / STEP, v.width / 2, v.height / 2);
			again();
		} else {
			return;
		}
		e.preventDefault();
	};
	const onFocus = (focused) => {
		v.focused = focused;
		if (focused && !here && boxes.length)
			onActive(boxes[0].key);
		again();
	};
	return html`<div class="flow-sheet"><div class="plane" tabindex="0" role="listbox" aria-label=${label} aria-describedby=${describedby}
			aria-activedescendant="active-box" onKeyDown=${onKeyDown} onFocus=${() => onFocus(true)} onBlur=${() => onFocus(false)}>
		<${Heard} id="active-box" box=${here} words=${here?.words} view=${view} />
		<canvas ref=${(c) => { v.canvas = c ?? v.canvas; }} aria-hidden="true"></canvas></div><${Scale} view=${view} again=${again} /></div>`;
}
