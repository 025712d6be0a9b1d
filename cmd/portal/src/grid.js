// The cells of all nodes: a canvas as large as what is in sight, that is painted at most once a frame. For who uses no mouse it is a list: the
// arrows go through the cells, blank picks, Enter opens; a reader is told the node where one is.
import { useEffect, useRef, useState } from 'preact/hooks';
import { layOut, step } from './groups.js';
import { useFrame } from './frame.js';
import { html } from './html.js';
import { paint, readColours, sizesFor } from './painter.js';

const LEFT = 6;
const KEYS = ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End'];

export function sayNode(n) {
	const at = n.plan?.steps?.[n.plan.cursor];
	return [n.name, n.state, at && `step ${n.plan.cursor + 1} of ${n.plan.steps.length}, ${at.kind}`, n.role && `role ${n.role}`, n.pool && `pool ${n.pool}`,
		!n.up && 'not heard'].filter(Boolean).join(', ');
}

function nodeAt(view, event) {
	const box = view.canvas.getBoundingClientRect();
	const x = event.clientX - box.left - LEFT, y = event.clientY - box.top + view.top;
	const row = view.laid.rows.find((r) => r.nodes && y >= r.y && y < r.y + r.height);
	return row?.nodes[Math.floor(x / (view.sizes.cell + view.sizes.gap))];
}

function usePainter(view) {
	return useFrame(view, 'portal-paint', (v) => paint(v.canvas, { ...v, rows: v.laid.rows, left: LEFT }));
}

function useSight(view, scroller, again, setWidth) {
	useEffect(() => {
		const box = scroller.current;
		if (!box) // the page was left before it was shown
			return undefined;
		const look = () => {
			Object.assign(view.current, { width: box.clientWidth, height: box.clientHeight, top: box.scrollTop });
			setWidth(box.clientWidth);
			again();
		};
		const recolour = () => {
			view.current.colours = readColours(box);
			again();
		};
		const size = new ResizeObserver(look);
		const scheme = matchMedia('(prefers-color-scheme: dark)');
		size.observe(box);
		scheme.addEventListener('change', recolour);
		recolour();
		look();
		return () => { size.disconnect(); scheme.removeEventListener('change', recolour); };
	}, []);
}

function keepInSight(scroller, rows, name) {
	const row = rows.find((r) => r.nodes?.some((n) => n.name === name));
	if (!row)
		return;
	if (row.y < scroller.scrollTop)
		scroller.scrollTop = row.y - 2 * row.height;
	else if (row.y + row.height > scroller.scrollTop + scroller.clientHeight)
		scroller.scrollTop = row.y + row.height - scroller.clientHeight;
}

// groups: of groups.js; picked: Set of names; onPick(name, add), onOpen(name), onNone()
export function Grid({ groups, picked, onPick, onOpen, onNone }) {
	const scroller = useRef(null);
	const [width, setWidth] = useState(800);
	const [active, setActive] = useState('');
	const view = useRef({ top: 0, focused: false });
	const again = usePainter(view);
	const sizes = sizesFor(groups.reduce((n, g) => n + g.nodes.length, 0));
	const laid = layOut(groups, width - 2 * LEFT, sizes);
	Object.assign(view.current, { sizes, laid, picked, active });
	useSight(view, scroller, again, setWidth);
	useEffect(again);
	const nodes = groups.flatMap((g) => g.nodes);
	const here = nodes.find((n) => n.name === active);
	const onKey = (e) => {
		if (KEYS.includes(e.key)) {
			const to = step(laid.rows, active, e.key);
			setActive(to);
			keepInSight(scroller.current, laid.rows, to);
		} else if (e.key === ' ' && here) {
			onPick(active, true);
		} else if (e.key === 'Enter' && here) {
			onOpen(active);
		} else if (e.key === 'Escape') {
			onNone();
		} else {
			return;
		}
		e.preventDefault();
	};
	const onClick = (e) => {
		const node = nodeAt(view.current, e);
		if (!node)
			return;
		setActive(node.name);
		if (e.ctrlKey || e.metaKey || e.shiftKey)
			onPick(node.name, true);
		else
			onOpen(node.name);
	};
	const onFocus = (focused) => {
		view.current.focused = focused;
		if (focused && !here && nodes.length)
			setActive(nodes[0].name);
		again();
	};
	const onMove = (e) => {
		const node = nodeAt(view.current, e);
		view.current.canvas.title = node ? sayNode(node) : '';
		view.current.canvas.style.cursor = node ? 'pointer' : 'default';
	};
	return html`<div class="grid" ref=${scroller} tabindex="0" role="listbox" aria-label="Nodes" aria-multiselectable="true"
			aria-activedescendant=${here ? 'active-node' : undefined} onKeyDown=${onKey}
			onFocus=${() => onFocus(true)} onBlur=${() => onFocus(false)}
			onScroll=${() => { view.current.top = scroller.current.scrollTop; again(); }}>
		<div class="heard" id="active-node" role="option" aria-selected=${picked.has(active) ? 'true' : 'false'}>${here ? sayNode(here) : 'no node'}</div>
		<div class="extent" style=${{ height: `${laid.height}px` }} role="presentation">
			<canvas ref=${(c) => { view.current.canvas = c; }} onClick=${onClick} onMouseMove=${onMove} aria-hidden="true"></canvas></div>
	</div>`;
}
