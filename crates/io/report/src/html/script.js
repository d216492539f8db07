'use strict';
(() => {
  const read = (id) => { const e = document.getElementById(id); return e ? JSON.parse(e.textContent) : null; };
  const figures = read('figures') || [];
  // What stands apart from a series' points is drawn otherwise than they are.
  for (const figure of figures) figure.layers = figure.layers.flatMap((layer) => (layer.far ? [{ kind: 'far', ink: layer.ink, points: layer.far }, layer] : [layer]));
  const some = document.querySelector('figure svg');
  const ns = some && some.namespaceURI;
  const make = (name, attributes, parent, text) => {
    const e = document.createElementNS(ns, name);
    for (const key in attributes) e.setAttribute(key, attributes[key]);
    if (text !== undefined) e.textContent = text;
    if (parent) parent.append(e);
    return e;
  };
  const plain = (name, attributes, parent, text) => {
    const e = document.createElement(name);
    for (const key in attributes) e.setAttribute(key, attributes[key]);
    if (text !== undefined) e.textContent = text;
    parent.append(e);
    return e;
  };
  // Digits in threes from 10,000 on, as everywhere in the page.
  const group = (text) => text.length < 5 ? text : text.replace(/\B(?=(\d{3})+(?!\d))/g, ',');
  // As many digits as a tenth of the span asks for, and as tell marks a step apart.
  const digitsOf = (span, step) => {
    let digits = 0;
    while (digits < 9 && (span * 10 ** digits < 4.999 || step * 10 ** digits < 0.999)) digits += 1;
    return digits;
  };
  const number = (value, span, step = span) => {
    const digits = digitsOf(span, step);
    const [whole, part] = Math.abs(value).toFixed(digits).split('.');
    const shown = group(whole) + (part ? '.' + part : '');
    return value < 0 && Number(shown.replace(/,/g, '')) !== 0 ? '\u2212' + shown : shown;
  };
  const time = (nanos) => {
    for (const [size, unit] of [[1e9, 's'], [1e6, 'ms'], [1e3, '\u00b5s']])
      if (nanos >= 0.9995 * size) return Number((nanos / size).toPrecision(3)) + '\u00a0' + unit;
    return Number(nanos.toPrecision(3)) + '\u00a0ns';
  };
  const percent = (share) => Number((100 * share).toPrecision(2)) + '\u00a0%';
  const label = (axis, value, span, step) => {
    if (axis.labels === 'decades') return time(10 ** value);
    if (axis.labels === 'shares') return percent(10 ** value);
    return number(value, span, step);
  };
  // The end of an axis is no round place: it has the digits that put it where it is, to a hundredth of the axis.
  const ending = (axis, value, span, step) => {
    const near = (one) => Math.abs(Number(value.toFixed(digitsOf(span, one))) - value) <= span / 100;
    return label(axis, value, span, [step, step / 10, step / 100].find(near) || step / 100);
  };
  // What the tip says: the number with its unit.
  const told = (axis, value, span) => label(axis, value, span) + (axis.labels === 'numbers' && axis.unit ? '\u00a0' + axis.unit : '');
  // Marks at the lower and at the upper edge of a chart.
  const edged = (layer) => layer.kind === 'below' || layer.kind === 'top';
  // What a chart shows, for whoever does not see it: its axes, how far they reach, and its series.
  const described = ({ figure, view: [x0, x1, y0, y1] }) => {
    const reach = (axis, from, to) => `${axis.title} from ${label(axis, from, to - from)} to ${label(axis, to, to - from)}`;
    const named = figure.legend.map(([name]) => name).join('; ');
    return figure.title + ': ' + [!figure.y.lines && reach(figure.y, y0, y1), reach(figure.x, x0, x1), named].filter(Boolean).join('; ');
  };
  // Round places for marks; the end has one too where there is room.
  const ticks = (axis, from, to, most) => {
    const places = [];
    let step = (to - from) / Math.max(most, 1);
    if (axis.labels === 'numbers') {
      const power = 10 ** Math.floor(Math.log10(step));
      step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= step) || 10 * power;
    } else step = Math.max(1, Math.ceil(step));
    for (let n = Math.ceil(from / step - 1e-9); n * step <= to + 1e-9 * step; n += 1) places.push(n * step);
    return places;
  };
  // The greatest that lies beyond the scale, of all or between two moments; 0 where nothing does.
  const mostBeyond = (figure, from = -Infinity, to = Infinity) => {
    let most = 0;
    for (const layer of figure.layers) if (layer.kind === 'above')
      for (const [x, y] of layer.points) if (x >= from && x <= to && y > most) most = y;
    return most;
  };
  const beyondText = (value) => (value ? number(value, value < 9.995 ? 0.05 : value < 99.95 ? 0.5 : 5) : '');
  // The lines across, and the labels beside them. Each strip has its own; a logarithmic axis a line a decade, also where there is no
  // room for all the labels.
  const across = ({ y }, from, to) => {
    if (y.lines) return { lines: y.lines.map(([at]) => at), labels: y.lines.filter(([, , named]) => named).map(([at, decade]) => [at, percent(10 ** decade)]) };
    const labels = ticks(y, from, to, 4);
    return {
      lines: ['decades', 'shares'].includes(y.labels) ? ticks(y, from, to, to - from) : labels,
      labels: labels.map((at) => [at, label(y, at, to - from)]),
    };
  };
  // What the labels of the vertical axis take on the left.
  const room = (figure, [, , from, to]) =>
    Math.max(58, 16 + 7.2 * Math.max(0, beyondText(mostBeyond(figure)).length, ...across(figure, from, to).labels.map(([, text]) => text.length)));
  const draw = (state) => {
    const { figure, box, view } = state;
    const width = Math.max(280, box.clientWidth || 880), height = figure.y.rows ? 66 + 44 * figure.y.rows : Math.round(Math.min(440, 150 + width * 0.16));
    // Charts of the same stretch of time begin at the same place.
    const left = Math.max(room(figure, view), ...state.beside.map((other) => room(other.figure, other.whole))), right = width - 16, bottom = height - 40;
    const [x0, x1, y0, y1] = view;
    // What lies beyond the scale is drawn in a strip above, by the logarithm of how far it does.
    const most = mostBeyond(figure, x0, x1), strip = most > y1 ? Math.round(height * 0.19) : 0, top = 26 + strip;
    const far = (y) => Math.log1p(Math.max(0, y - y1) / (y1 - y0));
    const up = (y) => top - 4 - (strip - 6) * far(y) / far(most);
    const px = (x) => left + (x - x0) / (x1 - x0) * (right - left);
    const py = (y) => bottom - (y - y0) / (y1 - y0) * (bottom - top);
    const clip = 'clip' + state.index;
    // What has the focus stays, and what is drawn in it is drawn anew. A reader of screens leaves its keys to it.
    if (!state.svg) state.svg = make('svg', { role: 'application', 'aria-roledescription': 'chart', 'aria-describedby': 'how', tabindex: 0 }, box);
    for (const [name, value] of [['viewBox', `0 0 ${width} ${height}`], ['width', width], ['height', height], ['aria-label', described(state)]])
      state.svg.setAttribute(name, value);
    const svg = make('g', { 'aria-hidden': 'true' });
    state.svg.replaceChildren(svg);
    const defs = make('clipPath', { id: clip }, make('defs', {}, svg));
    make('rect', { x: left, y: top - 7, width: right - left + 1, height: bottom - top + 8 }, defs);
    const { lines, labels } = across(figure, y0, y1);
    for (const y of lines) make('path', { d: `M${left} ${py(y)}H${right}`, class: 'grid' }, svg);
    for (const [y, text] of labels) make('text', { x: left - 7, y: py(y) + 4, 'text-anchor': 'end' }, svg, text);
    if (strip) {
      const places = [most];
      for (let y = 10 ** Math.floor(Math.log10(most)); y > y1 && y > 0; y /= 10) if (up(y) < top - 14 && up(y) > up(most) + 13) places.push(y);
      for (const y of places) {
        make('path', { d: `M${left} ${up(y)}H${right}`, class: 'grid' }, svg);
        make('text', { x: left - 7, y: up(y) + 4, 'text-anchor': 'end' }, svg, beyondText(y));
      }
      make('path', { d: `M${left} ${top}H${right}`, class: 'axis', 'stroke-dasharray': '2 4' }, svg);
    }
    const marks = ticks(figure.x, x0, x1, width / 105), last = marks[marks.length - 1];
    const step = marks.length > 1 ? marks[1] - marks[0] : x1 - x0;
    const named = marks.map((x) => [x, label(figure.x, x, x1 - x0, step)]);
    if (marks.length && figure.x.labels === 'numbers') {
      const text = ending(figure.x, x1, x1 - x0, step), room = 7.2 * (text.length + named[named.length - 1][1].length / 2);
      if (px(x1) - px(last) > Math.max(52, room)) named.push([x1, text]);
    }
    for (const [x, text] of named) {
      make('path', { d: `M${px(x)} ${bottom}v4`, class: 'axis' }, svg);
      const anchor = px(x) > right - 24 ? 'end' : px(x) < left + 12 && left < 20 ? 'start' : 'middle';
      make('text', { x: Math.min(px(x) + (anchor === 'end' ? 8 : 0), width - 4), y: bottom + 17, 'text-anchor': anchor, class: 'along' }, svg, text);
    }
    make('path', { d: `M${left} ${bottom}H${right}`, class: 'axis' }, svg);
    make('text', { x: right, y: height - 5, 'text-anchor': 'end' }, svg, figure.x.title);
    make('text', { x: 2, y: 12 }, svg, figure.y.title);
    const plot = make('g', { 'clip-path': `url(#${clip})` }, svg);
    for (const layer of figure.layers) {
      const points = layer.points, style = `--c:var(--${layer.ink})`;
      if (layer.kind === 'points') {
        let d = '', drawn = 0;
        for (const [x, y] of points) if (x >= x0 && x <= x1) { d += `M${px(x).toFixed(1)} ${py(y).toFixed(1)}h0`; drawn += 1; }
        make('path', { d, class: drawn <= 60 ? 'dots few' : drawn <= 300 ? 'dots some' : 'dots', style }, drawn <= 300 ? svg : plot);
      } else if (layer.kind === 'line' || layer.kind === 'area') {
        let d = '';
        for (const [x, y] of points) d += (d ? 'L' : 'M') + px(x).toFixed(1) + ' ' + py(y).toFixed(1);
        if (d && layer.kind === 'area') make('path', { d: `${d}L${px(points[points.length - 1][0])} ${bottom}L${px(points[0][0])} ${bottom}Z`, class: 'fill', style }, plot);
        make('path', { d, class: 'line', style }, plot);
      } else if (layer.kind === 'far') {
        const here = points.filter(([x]) => x >= x0 && x <= x1), line = ([x, y, from]) => `M${px(x).toFixed(1)} ${py(from).toFixed(1)}V${py(y).toFixed(1)}`;
        make('path', { d: here.map(line).join(''), class: 'far', style }, plot);
        // Few are packets that one looks at one by one; many would look like a crowd of their own.
        if (here.length <= 60) make('path', { d: here.map(([x, y]) => `M${px(x).toFixed(1)} ${py(y).toFixed(1)}h0`).join(''), class: 'dots', style }, plot);
      } else if (edged(layer)) {
        // Several that are one mark reach from the first to the last.
        const [edge, long] = layer.kind === 'top' ? [top, 9] : [bottom, -9];
        const mark = ([x, to]) => `M${px(x).toFixed(1)} ${edge}v${long}` + (to ? `H${px(to).toFixed(1)}v${-long}` : '');
        make('path', { d: points.map(mark).join(''), class: points.some((point) => point.length > 1) ? 'mark light' : 'mark', style }, plot);
      } else if (layer.kind === 'above') {
        const here = points.filter(([x]) => x >= x0 && x <= x1);
        make('path', { d: here.map(([x, y]) => `M${px(x).toFixed(1)} ${up(y).toFixed(1)}h0`).join(''), class: 'dots beyond', style }, svg);
      } else if (layer.kind === 'bars') {
        for (const [a, b, c, e, opacity] of points) if (b >= x0 && a <= x1) make('rect', { x: px(a), y: py(e), width: Math.max(1, px(b) - px(a)), height: py(c) - py(e), class: 'tip', opacity, style }, plot);
      }
    }
    state.geometry = { left, right, top: top - strip, edge: top, bottom, px, py, up, width };
    state.cursor = make('g', { class: 'cursor' }, svg);
    state.reset.hidden = view.every((value, place) => value === state.whole[place]);
    state.box.closest('figure')?.classList.toggle('part', !state.reset.hidden);
    // Of how many points those in view are some.
    let seen = 0, there = 0;
    for (const layer of figure.layers) if (layer.kind === 'points') {
      const here = layer.points.filter(([x]) => x >= x0 && x <= x1).length;
      // Where what stands apart is drawn besides, that tells nothing of how many there are: each stretch has as many.
      const ends = layer.begins && [...layer.begins.slice(1), state.whole[1]];
      const share = ends
        ? ends.reduce((sum, end, n) => sum + Math.max(0, Math.min(x1, end) - Math.max(x0, layer.begins[n])) / ((end - layer.begins[n]) || 1), 0) / ends.length
        : here / layer.points.length;
      const far = (layer.far || []).filter(([x]) => x >= x0 && x <= x1).length;
      seen += here + far; there += layer.of ? Math.max(here + far, share * layer.of) : here;
    }
    state.some.hidden = state.reset.hidden || there < seen + 1;
    state.some.textContent = state.some.hidden ? '' : `${group(String(seen))} of about ${group(String(Number(there.toPrecision(2))))} points here are drawn`;
  };
  const zoom = (state, a, b) => {
    const { figure } = state;
    const [from, to] = a < b ? [a, b] : [b, a];
    // Drawn beside the axis, or finer than its numbers: there is nothing to show.
    if (to - from <= (state.whole[1] - state.whole[0]) / 1e7) { hover(state, null); return; }
    let low = state.whole[2], high = state.whole[3];
    const seen = figure.layers.filter((l) => l.kind === 'points' || l.kind === 'far').flatMap((l) => l.points.filter(([x]) => x >= from && x <= to).map(([, y]) => y));
    if (seen.length > 1) {
      low = seen.reduce((m, y) => Math.min(m, y), seen[0]); high = seen.reduce((m, y) => Math.max(m, y), seen[0]);
      const room = 0.06 * (high - low || 1);
      low = Math.max(low - room, Math.min(low, state.whole[2])); high += room;
    }
    state.view = [from, to, low, high];
    draw(state);
  };
  // What stands for one packet, and what is a value at every place along the axis.
  const single = (layer) => ['points', 'far', 'above', 'below', 'top'].includes(layer.kind);
  const curve = (layer) => layer.kind === 'line' || layer.kind === 'area';
  const pointed = (layer) => ['points', 'far', 'line', 'area', 'above'].includes(layer.kind);
  const height = ({ geometry: g }, layer, point) => (layer.kind === 'below' ? g.bottom - 5 : layer.kind === 'top' ? g.edge + 5 : (layer.kind === 'above' ? g.up : g.py)(point[1]));
  // A mark for several reaches from the first to the last.
  const until = (layer, point) => (layer.kind === 'bars' || edged(layer) && point.length > 1 ? point[1] : point[0]);
  const inside = ([from, to], layer, point) => until(layer, point) >= from && point[0] <= to;
  // What is drawn nearest to a place, where that is near enough to be meant.
  const RADIUS = 20;
  const meant = (state, x, y) => {
    const { figure, geometry: g, view } = state;
    let best = null, least = RADIUS ** 2;
    for (const layer of figure.layers) if (pointed(layer) || edged(layer)) for (const point of layer.points) {
      const across = Math.max(g.px(point[0]) - x, x - g.px(until(layer, point)), 0);
      if (across > RADIUS || !inside(view, layer, point)) continue;
      const far = across ** 2 + (height(state, layer, point) - y) ** 2;
      if (far < least) { least = far; best = [layer, point]; }
    }
    return best;
  };
  // What a curve is at x, between its points as it is drawn, and beyond its ends what it is there.
  const valueAt = (points, x) => {
    let low = 0, high = points.length - 1;
    if (high < 0) return null;
    if (x <= points[0][0]) return points[0][1];
    if (x >= points[high][0]) return points[high][1];
    while (high - low > 1) {
      const place = (low + high) >> 1;
      if (points[place][0] <= x) low = place; else high = place;
    }
    const [[a, from], [b, to]] = [points[low], points[high]];
    return b > a ? from + (to - from) * (x - a) / (b - a) : to;
  };
  // What is told of one moment: what is picked, and of the other series what they have for that very packet, and what their curves
  // are there. A neighbour along the axis is another packet, whose value is told at its own moment.
  const linesAt = (state, x, picked) => {
    const lines = picked ? [picked] : [];
    // Of all strips the same column.
    if (state.figure.y.rows) {
      const from = picked ? picked[1][0] : null, columns = state.figure.layers.filter((layer) => !picked || layer !== picked[0]);
      for (const layer of columns) lines.push(...layer.points.filter((point) => (picked ? point[0] === from : point[0] <= x && x < point[1])).map((point) => [layer, point]));
      return lines;
    }
    for (const layer of state.figure.layers) if (!picked || picked[0] !== layer) {
      if (curve(layer)) {
        const y = valueAt(layer.points, x);
        if (y !== null) lines.push([layer, [x, y]]);
      } else if (picked && single(layer) && !layer.of) {
        const same = layer.points.find((point) => point[0] === x && inside(state.view, layer, point));
        if (same) lines.push([layer, same]);
      }
    }
    return lines;
  };
  // What there is about x where nothing is pointed at: the stretch, and of each series its least and its greatest, and what was lost.
  const stretchAt = (state, x) => {
    const { figure, view, whole } = state, about = (view[1] - view[0]) / 60, stretches = [];
    for (const ink of new Set(figure.layers.filter((layer) => layer.kind === 'points').map((layer) => layer.ink))) {
      const layers = figure.layers.filter((layer) => layer.ink === ink && !edged(layer) && single(layer));
      const known = layers.find((layer) => layer.stretches), some = layers.some((layer) => layer.of);
      if (known) {
        const { length } = known.stretches, size = (whole[1] - whole[0]) / length;
        const place = Math.min(length - 1, Math.max(0, Math.floor((x - whole[0]) / size))), [of, lost, low, high] = known.stretches[place];
        if (of || lost) stretches.push({ ink, from: whole[0] + place * size, to: whole[0] + (place + 1) * size, of, low, high, lost });
      } else if (!some) {
        const here = layers.flatMap((layer) => layer.points.filter(([at]) => Math.abs(at - x) <= about && at >= view[0] && at <= view[1]));
        if (!here.length) continue;
        const [at, values] = [here.map((point) => point[0]), here.map((point) => point[1])];
        stretches.push({ ink, from: Math.min(...at), to: Math.max(...at), of: here.length, low: Math.min(...values), high: Math.max(...values) });
      }
    }
    if (!stretches.length) return null;
    const from = Math.min(...stretches.map((one) => one.from)), to = Math.max(...stretches.map((one) => one.to));
    // Of a stretch of which all packets are drawn, all that were lost are marked.
    if (stretches.length === 1 && stretches[0].lost === undefined)
      for (const layer of figure.layers) if (layer.kind === 'below' && layer.ink === 'bad')
        stretches[0].lost = layer.points.filter(([at]) => at >= from && at <= to).length;
    return { from, to, stretches };
  };
  const nameOf = (figure, layer) => (figure.legend.find(([, ink]) => ink === layer.ink) || [figure.y.title])[0];
  const valueOf = ({ figure, view }, [layer, point]) => {
    // The digits that the chart's height tells, and at least three of the number's own: among others it may be small.
    const value = (one) => told(figure.y, one, Math.max(Math.min((view[3] - view[2]) / 50, Math.abs(one) / 20 || Infinity), (view[3] - view[2]) / 5e5));
    if (edged(layer)) return nameOf(figure, layer) + (point[3] ? ` ${group(String(point[2]))} of ${group(String(point[3]))}` : '');
    if (figure.y.rows) {
      const [marked, of, worst] = point.slice(5), most = of > 20 ? `, at worst ${Math.round(20 * worst)} of 20 in a row` : '';
      return `${nameOf(figure, layer)}: ${group(String(marked))} of ${group(String(of))} (${percent(marked / of)})${most}`;
    }
    if (layer.kind === 'bars') return value(point[2]) + ' to ' + value(point[3]);
    return (layer.kind === 'above' ? '\u25b2\u00a0' : '') + value(point[1]);
  };
  // When it is, with the digits that a pixel tells where it is a point, and else those that a pointer does.
  const momentOf = ({ figure, view }, from, to, exact) => {
    const moment = (one) => told(figure.x, one, (view[1] - view[0]) / (exact ? 500 : 50));
    return to > from ? `between ${moment(from)} and ${moment(to)}` : moment(from);
  };
  const hide = (state) => { state.cursor.replaceChildren(); state.tip.hidden = true; };
  const say = (state, at, heading, rows) => {
    const { geometry: g, tip } = state;
    tip.replaceChildren();
    plain('b', {}, tip, heading);
    for (const [ink, text] of rows) plain('span', { style: `--c:var(--${ink})` }, tip, text);
    tip.hidden = false;
    tip.style.left = 0;
    const width = state.box.clientWidth, place = (at / g.width) * width;
    tip.style.left = Math.min(Math.max(0, place + 12), width - tip.offsetWidth) + 'px';
    if (place > width * 0.7) tip.style.left = Math.max(0, place - 12 - tip.offsetWidth) + 'px';
  };
  const shade = (state, from, to) => {
    const { geometry: g } = state, a = Math.max(g.left, g.px(from)), b = Math.min(g.right, g.px(to));
    if (b > a) make('rect', { x: a, y: g.top, width: b - a, height: g.bottom - g.top }, state.cursor);
  };
  const show = (state, x, lines, picked) => {
    const { geometry: g, cursor } = state, [from, to] = picked ? [picked[1][0], until(...picked)] : [x, x];
    cursor.replaceChildren();
    make('path', { d: `M${g.px(x)} ${g.top}V${g.bottom}` }, cursor);
    shade(state, from, to);
    for (const [layer, point] of lines) if (pointed(layer)) make('circle', { cx: g.px(point[0]), cy: height(state, layer, point), r: 4, style: `--c:var(--${layer.ink})` }, cursor);
    say(state, g.px(x), momentOf(state, from, to, picked), lines.map((line) => [line[0].ink, valueOf(state, line)]));
  };
  const showStretch = (state, { from, to, stretches }) => {
    const { figure, geometry: g, cursor } = state, layer = (ink) => figure.layers.find((one) => one.kind === 'points' && one.ink === ink), rows = [];
    cursor.replaceChildren();
    shade(state, from, to);
    for (const { ink, of, low, high, lost } of stretches) {
      const value = (y) => valueOf(state, [layer(ink), [from, y]]), packets = `${group(String(of))} ${of === 1 ? 'packet' : 'packets'}`;
      if (of) rows.push([ink, `${value(low)}${high > low ? ' to ' + value(high) : ''}, ${packets}`]);
      if (lost) rows.push(['bad', `lost ${group(String(lost))} of ${group(String(lost + of))}`]);
    }
    say(state, g.px((Math.max(from, state.view[0]) + Math.min(to, state.view[1])) / 2), momentOf(state, from, to, true), rows);
  };
  const hover = (state, clientX, clientY) => {
    if (clientX === null) { hide(state); return; }
    const { geometry: g, view } = state, box = state.svg.getBoundingClientRect(), scale = g.width / box.width;
    const at = Math.min(g.right, Math.max(g.left, (clientX - box.left) * scale)), y = (clientY - box.top) * scale;
    let picked = meant(state, at, y);
    const x = picked ? middle(picked) : view[0] + (at - g.left) / (g.right - g.left) * (view[1] - view[0]);
    const stretch = picked ? null : stretchAt(state, x);
    if (stretch) { showStretch(state, stretch); return; }
    const lines = linesAt(state, x, picked);
    if (state.figure.y.rows) picked = lines[0];
    show(state, Math.min(view[1], Math.max(view[0], x)), lines, picked);
  };
  // By the keyboard: what each series draws, in order, with its marks beyond the scale.
  const seriesOf = (figure) => {
    const all = new Map();
    for (const layer of figure.layers) for (const point of layer.points) {
      if (!all.has(layer.ink)) all.set(layer.ink, []);
      all.get(layer.ink).push([layer, [].concat(point)]);
    }
    return [...all.values()].map((items) => items.sort((a, b) => a[1][0] - b[1][0]));
  };
  const middle = ([layer, point]) => (point[0] + until(layer, point)) / 2;
  const said = document.body.appendChild(document.createElement('div'));
  said.className = 'said';
  said.setAttribute('aria-live', 'polite');
  // What is at the place where the keys have come to, to be seen and heard.
  const here = (state) => {
    const x = middle(state.at), lines = linesAt(state, x, state.at), { figure } = state;
    show(state, Math.min(state.view[1], Math.max(state.view[0], x)), lines, state.at);
    const named = ([layer, point]) => {
      const name = nameOf(figure, layer), value = valueOf(state, [layer, point]).replace('\u25b2', 'beyond the scale,');
      return value.startsWith(name) ? value : `${name} ${value}`;
    };
    said.textContent = momentOf(state, state.at[1][0], until(...state.at), true) + ': ' + lines.map(named).join('; ');
  };
  const within = (state, items) => items.filter(([layer, point]) => inside(state.view, layer, point));
  // Goes on by so many points of the series, or to its first or last in view.
  const step = (state, by) => {
    state.series ||= seriesOf(state.figure);
    const items = within(state, state.series[state.line] || []);
    if (!items.length) { other(state, 1); return; }
    const from = items.indexOf(state.at), to = from < 0 ? (by > 0 && by < Infinity || by === -Infinity ? 0 : items.length - 1) : from + by;
    state.at = items[Math.min(items.length - 1, Math.max(0, to))];
    here(state);
  };
  // Goes to another series that is drawn here, at about the same place.
  const other = (state, by) => {
    state.series ||= seriesOf(state.figure);
    const count = state.series.length, x = state.at ? middle(state.at) : state.view[0];
    for (let n = 1; n <= count; n += 1) {
      const line = (state.line + by * n + n * count) % count, items = within(state, state.series[line]);
      if (!items.length) continue;
      state.line = line;
      state.at = items.reduce((a, b) => (Math.abs(middle(b) - x) < Math.abs(middle(a) - x) ? b : a));
      here(state);
      return;
    }
  };
  const states = [];
  document.querySelectorAll('figure[data-figure]').forEach((place, index) => {
    const figure = figures[Number(place.dataset.figure)];
    if (!figure || !ns) return;
    const legend = plain('div', { class: 'legend' }, place);
    for (const [name, ink] of figure.legend) plain('span', { style: `--c:var(--${ink})` }, legend, name);
    const some = plain('em', { hidden: '' }, legend);
    const reset = plain('button', { type: 'button', hidden: '' }, legend, 'show all');
    const box = plain('div', { class: 'live' }, place);
    place.prepend(legend, box);
    const tip = plain('div', { class: 'tip-box', hidden: '' }, box);
    const whole = [figure.x.from, figure.x.to, figure.y.from, figure.y.to];
    const state = { figure, index, box, reset, some, tip, whole, view: whole, beside: [], line: 0, at: null };
    place.classList.add('lively');
    states.push(state);
    const toX = (clientX) => {
      const r = state.svg.getBoundingClientRect(), g = state.geometry;
      const at = Math.min(g.right, Math.max(g.left, (clientX - r.left) * g.width / r.width));
      return state.view[0] + (at - g.left) / (g.right - g.left) * (state.view[1] - state.view[0]);
    };
    // Where the mouse was pressed, and where the pointer is.
    let from = null, wanted = null;
    // On a touch screen one finger points, and what it points at stays; two take hold of their moments, and spread or move them.
    const fingers = new Map();
    let held = null;
    const grip = () => [...fingers.values()].sort((a, b) => a - b);
    const spread = () => {
      const r = state.svg.getBoundingClientRect(), g = state.geometry, k = g.width / r.width;
      const [p, q] = grip().map((clientX) => (clientX - r.left) * k);
      const slope = (held[1] - held[0]) / Math.max(q - p, 12);
      const low = held[0] - (p - g.left) * slope;
      const [first, last] = state.whole, least = (last - first) / 1e4;
      const [a, b] = [Math.max(first, low), Math.min(last, low + (g.right - g.left) * slope)];
      if (b - a < least) return;
      if (a <= first && b >= last) all(); else zoom(state, a, b);
    };
    box.addEventListener('pointerdown', (event) => {
      if (event.pointerType === 'mouse') { from = event.clientX; return; }
      fingers.set(event.pointerId, event.clientX);
      // What is drawn anew under a finger does not lose it.
      try { box.setPointerCapture(event.pointerId); } catch { /* it has left already */ }
      hover(state, fingers.size === 1 ? event.clientX : null, event.clientY);
      held = fingers.size === 2 ? grip().map(toX) : null;
    });
    box.addEventListener('pointermove', (event) => {
      if (fingers.has(event.pointerId)) fingers.set(event.pointerId, event.clientX);
      if (held) {
        if (wanted === null) requestAnimationFrame(() => { wanted = null; if (held) spread(); });
        wanted = event;
        return;
      }
      if (wanted === null) requestAnimationFrame(() => {
        if (wanted === null || held) { wanted = null; return; }
        const { clientX, clientY } = wanted;
        hover(state, clientX, clientY);
        if (from !== null && Math.abs(clientX - from) > 4) {
          const r = state.svg.getBoundingClientRect(), k = state.geometry.width / r.width, g = state.geometry;
          const a = (Math.min(from, clientX) - r.left) * k, b = (Math.max(from, clientX) - r.left) * k;
          make('rect', { x: a, y: g.top, width: b - a, height: g.bottom - g.top }, state.cursor);
        }
        wanted = null;
      });
      wanted = event;
    });
    box.addEventListener('pointerleave', (event) => {
      if (event.pointerType !== 'mouse') return;
      from = null; wanted = null; requestAnimationFrame(() => hover(state, null));
    });
    const lift = (event) => { fingers.delete(event.pointerId); held = null; };
    box.addEventListener('pointerup', (event) => {
      lift(event);
      if (from !== null && Math.abs(event.clientX - from) > 8) zoom(state, toX(from), toX(event.clientX));
      from = null;
    });
    // The page is scrolled.
    box.addEventListener('pointercancel', (event) => { lift(event); wanted = null; hover(state, null); });
    document.addEventListener('pointerdown', (event) => { if (!box.contains(event.target)) hover(state, null); });
    const all = () => { state.view = state.whole; draw(state); };
    box.addEventListener('dblclick', all);
    reset.addEventListener('click', all);
    // Half as much, or twice as much, around where the keys have come to.
    const closer = (times) => {
      const [first, last] = state.whole, [x0, x1] = state.view, length = (x1 - x0) * times;
      if (length < (last - first) / 1e4) return;
      const around = state.at ? Math.min(x1, Math.max(x0, middle(state.at))) : (x0 + x1) / 2;
      const low = Math.max(first, Math.min(around - length / 2, last - length));
      if (length >= last - first) all(); else zoom(state, low, low + length);
    };
    box.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      state.series ||= seriesOf(figure);
      const shown = () => within(state, state.series[state.line] || []).length;
      const far = () => (event.shiftKey ? Math.max(1, Math.round(shown() / 20)) : 1);
      const seen = () => { if (state.at && within(state, [state.at]).length) here(state); else { state.at = null; said.textContent = described(state); } };
      const keys = {
        ArrowRight: () => step(state, far()), ArrowLeft: () => step(state, -far()),
        Home: () => step(state, -Infinity), End: () => step(state, Infinity),
        '+': () => { closer(0.5); seen(); }, '-': () => { closer(2); seen(); },
        0: () => { all(); seen(); },
        Escape: () => { if (reset.hidden) { state.at = null; said.textContent = ''; } else { all(); seen(); } if (!state.at) hide(state); },
      };
      [keys['='], keys['\u2212'], keys._] = [keys['+'], keys['-'], keys['-']];
      if (state.series.length > 1) Object.assign(keys, { ArrowDown: () => other(state, 1), ArrowUp: () => other(state, -1) });
      if (!Object.hasOwn(keys, event.key)) return;
      event.preventDefault();
      keys[event.key]();
    });
    box.addEventListener('focusout', () => { hide(state); said.textContent = ''; });
  });
  for (const state of states) {
    const same = (other) => ['title', 'from', 'to'].every((part) => other.figure.x[part] === state.figure.x[part]);
    state.beside = states.filter((other) => same(other) && other.box.closest('article') === state.box.closest('article'));
  }
  states.forEach(draw);
  let waiting = false;
  addEventListener('resize', () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; states.forEach(draw); });
  });
  // On paper nothing can be opened: all is, and is closed again afterwards.
  let closed = [];
  addEventListener('beforeprint', () => {
    closed = [...document.querySelectorAll('details:not([open])')];
    for (const part of closed) part.open = true;
  });
  addEventListener('afterprint', () => { for (const part of closed) part.open = false; closed = []; });
  const save = (name, type, text) => {
    const link = document.createElement('a');
    link['href'] = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
  };
  const data = document.getElementById('data');
  if (data) {
    const touched = matchMedia('(pointer: coarse)').matches, how = touched
      ? 'Touch a chart for values, pinch to zoom, double-tap to reset.'
      : 'Hover over a chart for values, drag to zoom, double-click to reset.';
    const keys = ' Keyboard: tab to the next chart; left and right to the next point, with shift in larger steps; home and end; '
      + 'up and down to another series; + and \u2212 to zoom, 0 or escape to reset.';
    if (states.length) plain('p', { class: 'when', id: 'how' }, data, touched ? how : how + keys);
    plain('button', { type: 'button' }, data, 'Measurement (JSON)').addEventListener('click', () =>
      save('measurement.json', 'application/json', JSON.stringify(read('document'), null, 2)));
    plain('button', { type: 'button' }, data, 'Chart data (CSV)').addEventListener('click', () => {
      const cell = (text) => (/[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
      const exact = (axis, value) => {
        if (value === undefined) return '';
        const factor = { decades: 1, shares: 100 }[axis.labels];
        return factor ? Number((factor * 10 ** value).toPrecision(6)) : value;
      };
      const axisOf = (axis) => cell(axis.title.replace(' (logarithmic)', { decades: ', ns', shares: ', %' }[axis.labels] || ''));
      const rows = ['path,figure,series,kind,x,y,x_to,y_to,shade,x_axis,y_axis'];
      for (const { figure, box } of states) for (const layer of figure.layers) {
        const heading = box.closest('article')?.querySelector('h1');
        const named = figure.legend.find(([, ink]) => ink === layer.ink);
        const head = [heading ? heading.textContent : '', figure.name, named ? named[0] : '', layer.kind].map(cell);
        const axes = [axisOf(figure.x), figure.y.rows ? cell('packets, out of y_to; shade: peak share within 20 consecutive') : axisOf(figure.y)];
        for (const point of layer.points) {
          const [x, a, b, c, shade = ''] = [].concat(point);
          const [y, to, top] = layer.kind === 'bars' ? [b, a, c] : [a];
          // Of a column of a strip how many there are, of how many, and the share of its worst moment: not how high and dark it is.
          const values = figure.y.rows ? [x, point[5], to, point[6], point[7]] : [exact(figure.x, x), exact(figure.y, y), exact(figure.x, to), exact(figure.y, top), shade];
          rows.push([...head, ...values, ...axes].join(','));
        }
      }
      save('charts.csv', 'text/csv', rows.join('\n') + '\n');
    });
  }
  document.documentElement.dataset.figures = String(states.length);
})();
