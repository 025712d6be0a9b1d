// Nodes in groups, by pool, state or a label, and where the cell of each stands. Decides nothing of how it looks.
const byNumber = (a, b) => (a.number ?? 0) - (b.number ?? 0);

export const keyOf = (node, by) => {
	if (by === 'pool')
		return node.pool || 'no pool';
	if (by === 'state')
		return node.state;
	return node.labels?.find((l) => l.key === by)?.value ?? `no ${by}`;
};

// The labels that nodes have: what one may group by.
export function labelsOf(nodes) {
	const keys = new Set();
	for (const n of nodes)
		for (const l of n.labels ?? [])
			keys.add(l.key);
	return [...keys].sort();
}

export function groupsOf(nodes, by) {
	const groups = new Map();
	for (const n of nodes) {
		const key = keyOf(n, by);
		if (!groups.has(key))
			groups.set(key, []);
		groups.get(key).push(n);
	}
	return [...groups].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true })).map(([name, list]) => ({ name, nodes: list.sort(byNumber) }));
}

// Rows from top to bottom, each a heading or cells: { y, title, n } or { y, nodes }. Heights in pixels.
export function layOut(groups, width, { cell, gap, heading }) {
	const across = Math.max(1, Math.floor((width + gap) / (cell + gap)));
	const rows = [];
	let y = 0;
	for (const g of groups) {
		rows.push({ y, title: g.name, n: g.nodes.length, height: heading });
		y += heading;
		for (let i = 0; i < g.nodes.length; i += across) {
			rows.push({ y, nodes: g.nodes.slice(i, i + across), height: cell + gap });
			y += cell + gap;
		}
		y += gap * 2;
	}
	return { rows, height: y, across };
}

// The first row that ends below y: rows are many, and looked at for each frame.
export function firstRow(rows, y) {
	let low = 0, high = rows.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (rows[middle].y + rows[middle].height <= y)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

// Where the keyboard goes from a node: the next one in that direction; the node itself at an edge.
export function step(rows, name, key) {
	const lines = rows.filter((r) => r.nodes);
	const at = lines.findIndex((r) => r.nodes.some((n) => n.name === name));
	if (at < 0)
		return lines[0]?.nodes[0]?.name;
	const x = lines[at].nodes.findIndex((n) => n.name === name);
	const to = { ArrowLeft: [at, x - 1], ArrowRight: [at, x + 1], ArrowUp: [at - 1, x], ArrowDown: [at + 1, x], Home: [0, 0], End: [lines.length - 1, Infinity] }[key];
	let [row, column] = to;
	if (key === 'ArrowLeft' && column < 0)
		[row, column] = [at - 1, Infinity];
	if (key === 'ArrowRight' && column >= lines[at].nodes.length)
		[row, column] = [at + 1, 0];
	const line = lines[row];
	return line ? line.nodes[Math.min(column, line.nodes.length - 1)].name : name;
}
